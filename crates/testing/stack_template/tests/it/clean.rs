//! AWS's own tools accept the template, and `sam build` builds it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use emulators::{Venv, workspace};
use stack_template::EdgeFirewall;

/// Both tools require a region, though neither calls AWS.
const REGION: (&str, &str) = ("AWS_DEFAULT_REGION", "eu-central-1");

fn tools() -> Venv {
    Venv::sam().unwrap()
}

fn sam() -> Command {
    let mut sam = tools().command("sam");
    sam.envs([REGION, ("SAM_CLI_TELEMETRY", "0")]);
    sam
}

fn authorizers() -> impl Iterator<Item = PathBuf> {
    let files = ["http-api-jwt.yaml", "rest-api-jwt.yaml", "lambda.yaml"];
    files.into_iter().map(|file| workspace::root().join("infra/authorizers").join(file))
}

fn succeeds(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{text}");
}

#[test]
#[ignore = "needs sam and cfn-lint: cargo xtask test stack_template"]
fn cfn_lint_finds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let of_edge = folder.path().join("edge-firewall.json");
    fs::write(&of_edge, EdgeFirewall::read().unwrap().to_string()).unwrap();
    let templates = [stack_template::path(), of_edge].into_iter().chain(authorizers());
    succeeds(tools().command("cfn-lint").envs([REGION]).args(templates));
}

#[test]
#[ignore = "needs sam and cfn-lint: cargo xtask test stack_template"]
fn sam_validate_finds_nothing() {
    succeeds(sam().arg("validate").current_dir(workspace::root()));
}

/// By these, the commands of `beekeeper` find the room.
#[test]
fn whoever_deploys_with_sam_is_told_the_name_and_the_tag() {
    let config = fs::read_to_string(workspace::root().join("samconfig.toml")).unwrap();
    let deploys: Vec<_> = config.lines().filter(|line| line.contains("sam deploy ")).collect();
    assert!(!deploys.is_empty() && !config.contains("\nstack_name"), "{config}");
    for deploy in deploys {
        let both = deploy.contains(" --stack-name beekeeper-") && deploy.contains(" --tags beekeeper:room=");
        assert!(both, "{deploy}");
    }
}

#[test]
#[ignore = "needs sam and cfn-lint: cargo xtask test stack_template"]
fn sam_build_unpacks_the_package_of_each_architecture() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir(root.join("infra")).unwrap();
    for file in ["samconfig.toml", "infra/template.yaml", "infra/Makefile"] {
        fs::copy(workspace::root().join(file), root.join(file)).unwrap();
    }
    let zip = "import sys, zipfile; zipfile.ZipFile(sys.argv[1], 'w').writestr('bootstrap', sys.argv[2])";
    let python = tools().python();
    for architecture in ["arm64", "x86_64"] {
        let packages = root.join("target/lambda").join(architecture);
        fs::create_dir_all(&packages).unwrap();
        succeeds(
            Command::new(&python).args(["-c", zip]).arg(packages.join("functions.zip")).arg(architecture),
        );
        let overrides = format!("Architecture={architecture}");
        succeeds(sam().arg("build").args(["--parameter-overrides", &overrides]).current_dir(root));
        for function in ["Producer", "Trigger", "Consumer", "Throttle", "Setup"] {
            let built = root.join(".aws-sam/build").join(function).join("bootstrap");
            assert_eq!(fs::read_to_string(built).unwrap(), architecture);
        }
    }
}

/// Compares an authorizer of a template with what API Gateway's own interface takes.
///
/// The two differ only in the first letter of a name, which is large in every template, and small in the interface of
/// REST APIs.
const CREATE_AUTHORIZER: &str = r#"
import sys, yaml
from botocore.session import Session
from botocore.validate import ParamValidator

class Loader(yaml.SafeLoader):
    pass
Loader.add_multi_constructor("!", lambda loader, tag, node: "something")

def small(value):
    if isinstance(value, dict):
        return {name[0].lower() + name[1:]: small(item) for name, item in value.items()}
    return [small(item) for item in value] if isinstance(value, list) else value

def not_in_list(value, shape):
    if shape.type_name == "structure":
        return [wrong for name, item in value.items() for wrong in not_in_list(item, shape.members[name])]
    if shape.type_name == "list":
        return [wrong for item in value for wrong in not_in_list(item, shape.member)]
    enum = getattr(shape, "enum", [])
    return [value] if enum and value not in enum else []

service, template = sys.argv[1:]
properties = yaml.load(open(template), Loader)["Resources"]["Visitors"]["Properties"]
properties = small(properties) if service == "apigateway" else properties
shape = Session().get_service_model(service).operation_model("CreateAuthorizer").input_shape
report = ParamValidator().validate(properties, shape)
assert not report.has_errors(), report.generate_report()
assert not not_in_list(properties, shape), not_in_list(properties, shape)
"#;

/// cfn-lint does not know the JWT authorizers of REST APIs yet.
#[test]
#[ignore = "needs botocore: cargo xtask test stack_template"]
fn api_gateway_takes_the_jwt_authorizers() {
    let model = Venv::with("api-model", &["botocore==1.44.5", "pyyaml==6.0.3"]).unwrap();
    let templates: Vec<_> = authorizers().collect();
    let check = |service: &str, template: &Path| {
        Command::new(model.python()).args(["-c", CREATE_AUTHORIZER, service]).arg(template).output().unwrap()
    };
    for (service, template) in [("apigatewayv2", &templates[0]), ("apigateway", &templates[1])] {
        let output = check(service, template);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    // A slip is found.
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(&templates[1]).unwrap();
    for (right, wrong) in
        [("DefaultAlgorithms", "Algorithms"), ("[RS256]", "[HS256]"), ("Audiences", "Audience")]
    {
        let slip = folder.path().join("slip.yaml");
        fs::write(&slip, text.replacen(right, wrong, 1)).unwrap();
        assert!(!check("apigateway", &slip).status.success(), "{wrong}");
    }
}

/// With it, a shop refuses whoever comes to its own address.
#[test]
fn an_api_shows_the_shop_a_secret_that_no_console_shows() {
    let templates: Vec<_> = authorizers().map(|template| fs::read_to_string(template).unwrap()).collect();
    let headers = [
        "overwrite:header.X-Shop-Secret: !Ref ShopSecret\n",
        "integration.request.header.X-Shop-Secret: !Sub \"'${ShopSecret}'\"\n",
    ];
    for (template, header) in templates.iter().zip(headers) {
        assert!(template.contains(header), "{template}");
        assert!(template.contains("  ShopSecret:\n    Type: String\n    NoEcho: true\n"), "{template}");
    }
}

/// Says of each method of an API whether it is for visitors with a pass only.
const METHODS: &str = r#"
import json, sys, yaml

class Loader(yaml.SafeLoader):
    pass
Loader.add_multi_constructor("!", lambda loader, tag, node: "something")

resources = yaml.load(open(sys.argv[1]), Loader)["Resources"].values()
methods = [resource["Properties"] for resource in resources if resource["Type"].endswith(("::Route", "::Method"))]
name = lambda method: method.get("HttpMethod") or method["RouteKey"].split()[0]
print(json.dumps({name(method): method["AuthorizationType"] for method in methods}))
"#;

/// A browser asks it before each request with a pass in a header. API Gateway answers for an HTTP API, unless there is a route for it.
#[test]
#[ignore = "needs pyyaml: cargo xtask test stack_template"]
fn a_preflight_needs_no_pass_and_every_other_request_does() {
    let model = Venv::with("api-model", &["botocore==1.44.5", "pyyaml==6.0.3"]).unwrap();
    let methods = |template: &Path| -> BTreeMap<String, String> {
        let output = Command::new(model.python()).args(["-c", METHODS]).arg(template).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let templates: Vec<_> = authorizers().collect();
    let [http, rest] = [&templates[0], &templates[1]].map(|template| methods(template));
    let with_pass =
        ["DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"].map(|method| (method.to_owned(), "JWT".to_owned()));
    assert_eq!(http, BTreeMap::from(with_pass));
    let of_rest =
        [("ANY", "JWT"), ("OPTIONS", "NONE")].map(|(method, kind)| (method.to_owned(), kind.to_owned()));
    assert_eq!(rest, BTreeMap::from(of_rest));
}

/// Prints the name of the API deployment that SAM creates for the template on standard input.
const DEPLOYMENT: &str = "
import sys, boto3
from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

template = yaml_parse(sys.stdin.read())
for resource in template['Resources'].values():
    if resource['Type'] == 'AWS::Serverless::Function':
        resource['Properties']['CodeUri'] = {'Bucket': 'bucket', 'Key': 'key'}
translator = Translator({}, Parser(), boto_session=boto3.Session(region_name='eu-central-1'))
plain = translator.translate(template, {})
print(*[name for name in plain['Resources'] if name.startswith('ApiDeployment')])
";

#[test]
#[ignore = "needs sam and cfn-lint: cargo xtask test stack_template"]
fn a_changed_route_creates_a_new_deployment() {
    let template = fs::read_to_string(stack_template::path()).unwrap();
    let deployment = |template: &str| {
        let mut python = Command::new(tools().python());
        python.args(["-c", DEPLOYMENT]).envs([REGION]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut python = python.spawn().unwrap();
        python.stdin.take().unwrap().write_all(template.as_bytes()).unwrap();
        let output = python.wait_with_output().unwrap();
        assert!(output.status.success());
        let name = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        assert!(name.starts_with("ApiDeployment") && !name.contains(' '), "{name}");
        name
    };
    let before = deployment(&template);
    assert_eq!(deployment(&template), before);
    // This changes one word of one mapping template.
    let changed = template.replace("\"status/$copy\"", "\"state/$copy\"");
    assert_ne!(changed, template);
    assert_ne!(deployment(&changed), before);
}
