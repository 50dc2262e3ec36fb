//! The files with which a pipeline of the operator's own deploys a room: docs/pipelines.md. They are made without asking AWS.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ::page::Page;
use config::{EdgeSetting, RoomConfig};
use serde_json::{Value, json};
use waitroom::RoomId;

use crate::bundle::{PACKAGE_BUCKET, template};
use crate::{Bundle, CloudError, check_page, edge_stack, names};

/// A file, and its path in the folder of them all.
#[derive(Clone, Debug)]
pub struct PipelineFile {
    pub path: String,
    pub content: Cow<'static, [u8]>,
}

impl PipelineFile {
    /// The first file that is written. It says which stack the others are of.
    pub const STACK: &str = "stack.json";

    /// Whether a file of that name was written for this room.
    pub fn is_stack_of(room: &RoomId, content: &[u8]) -> bool {
        let stack: Value = serde_json::from_slice(content).unwrap_or_default();
        stack["Tags"][names::TAG] == room.as_str()
    }

    fn json(path: impl Into<String>, value: &Value) -> Self {
        Self { path: path.into(), content: format!("{value:#}\n").into_bytes().into() }
    }
}

impl Bundle {
    /// The same template, package and parameters that [`Account::deploy`](crate::Account::deploy) would deploy, but for what
    /// depends on the account. `bucket` is where the pipeline uploads the package to, if that is known.
    pub fn pipeline_files(
        &self,
        config: &RoomConfig,
        custom_page: Option<&Page>,
        bucket: Option<&str>,
    ) -> Result<Vec<PipelineFile>, CloudError> {
        custom_page.map_or(Ok(()), check_page)?;
        let package = self.choose(config.architecture)?;
        let region = config.region.as_ref().map(ToString::to_string);
        let mut parameters = package.parameters(config)?;
        parameters.extend(bucket.map(|bucket| (PACKAGE_BUCKET.to_owned(), bucket.to_owned())));
        let stack = PipelineStack {
            folder: "",
            name: Some(names::stack(&config.room)),
            region: region.clone(),
            capabilities: &["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
            template: template(config.edge())?,
            parameters,
        };
        let mut files = stack.files(&config.room);
        if config.has_edge_firewall() {
            let (template, parameters) = edge_stack::content_text(config)?;
            let stack = PipelineStack {
                folder: "edge-firewall/",
                name: region.map(|region| names::edge_stack(&config.room, &region)),
                region: Some(EdgeSetting::REGION.to_owned()),
                capabilities: &[],
                template,
                parameters,
            };
            files.extend(stack.files(&config.room));
        }
        files.push(PipelineFile { path: package.key(), content: package.zip.clone() });
        for (name, file) in custom_page.into_iter().flat_map(Page::files) {
            // The input of S3's PutObject. The API sends the metadata as the file's Content-Security-Policy.
            let put = json!({
                "Key": name, "ContentType": file.content_type, "Metadata": { "policy": file.policy },
            });
            files.push(PipelineFile { path: format!("page/{name}"), content: file.body.clone().into() });
            files.push(PipelineFile::json(format!("page/{name}.json"), &put));
        }
        Ok(files)
    }
}

/// A stack that the pipeline deploys.
struct PipelineStack {
    /// Where its files are, with a slash at the end.
    folder: &'static str,
    /// Not known without the room's region, if it has that in it.
    name: Option<String>,
    region: Option<String>,
    capabilities: &'static [&'static str],
    template: String,
    parameters: BTreeMap<String, String>,
}

impl PipelineStack {
    fn files(self, room: &RoomId) -> Vec<PipelineFile> {
        let Self { folder, name, region, capabilities, template, parameters } = self;
        let tags = json!({ names::TAG: room });
        let stack =
            json!({ "StackName": name, "Region": region, "Tags": tags, "Capabilities": capabilities });
        vec![
            PipelineFile::json(format!("{folder}{}", PipelineFile::STACK), &stack),
            PipelineFile { path: format!("{folder}template.json"), content: template.into_bytes().into() },
            PipelineFile::json(
                format!("{folder}parameters.json"),
                &json!({ "Parameters": parameters, "Tags": tags }),
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ::config::{AddressLimit, Architecture, ConfigValue, SettingValue};
    use ::page::Design;

    use super::*;
    use crate::FunctionPackage;
    use crate::fixture::room_config;

    fn files(page: Option<&Page>, bucket: Option<&str>) -> BTreeMap<String, Cow<'static, [u8]>> {
        files_of(page, bucket, |_| {})
    }

    fn files_of(
        page: Option<&Page>,
        bucket: Option<&str>,
        change: fn(&mut RoomConfig),
    ) -> BTreeMap<String, Cow<'static, [u8]>> {
        let mut config = room_config("spring-sale");
        config.region = Some("eu-central-1".parse().unwrap());
        change(&mut config);
        let package = FunctionPackage { architecture: Architecture::Arm64, zip: b"zip".as_slice().into() };
        let files = Bundle::new([package]).pipeline_files(&config, page, bucket).unwrap();
        files.into_iter().map(|file| (file.path, file.content)).collect()
    }

    fn json_in(files: &BTreeMap<String, Cow<'static, [u8]>>, path: &str) -> Value {
        serde_json::from_slice(&files[path]).unwrap()
    }

    fn with_edge_firewall(config: &mut RoomConfig) {
        config.edge = Some(EdgeSetting::Yes);
        config.door_requests_per_address = Some(AddressLimit::from_value(ConfigValue::Number(500)).unwrap());
    }

    #[test]
    fn the_package_is_where_the_parameters_say() {
        let files = files(None, Some("artefacts"));
        let parameters = json_in(&files, "parameters.json");
        let key = parameters["Parameters"]["PackageKey"].as_str().unwrap();
        assert_eq!(files[key], b"zip".as_slice());
        assert_eq!(parameters["Parameters"]["PackageBucket"], "artefacts");
        assert_eq!(parameters["Parameters"]["Architecture"], "arm64");
        let template = json_in(&files, "template.json");
        let declared = template["Parameters"].as_object().unwrap().keys();
        let given = parameters["Parameters"].as_object().unwrap();
        assert!(declared.eq(given.keys()), "every parameter has a value, and no other");
    }

    #[test]
    fn a_firewall_for_an_edge_is_a_stack_of_its_own_in_us_east_1() {
        let files = files_of(None, None, with_edge_firewall);
        let stack = json_in(&files, "edge-firewall/stack.json");
        assert_eq!(
            (&stack["StackName"], &stack["Region"]),
            (&json!("beekeeper-spring-sale-Edge-eu-central-1"), &json!("us-east-1"))
        );
        let (template, parameters) = (
            json_in(&files, "edge-firewall/template.json"),
            json_in(&files, "edge-firewall/parameters.json"),
        );
        assert_eq!(parameters["Parameters"]["DoorRequestsPerAddress"], "500");
        let declared = template["Parameters"].as_object().unwrap().keys();
        assert!(declared.eq(parameters["Parameters"].as_object().unwrap().keys()));
        assert_eq!(
            json_in(&files, "parameters.json")["Parameters"]["EdgeFirewallArn"],
            "",
            "the pipeline fills it in"
        );
    }

    #[test]
    fn a_custom_page_comes_with_how_it_is_uploaded() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("page.toml"), "").unwrap();
        let page = Design::read(folder.path()).unwrap().page(&"Sale".parse().unwrap());
        let files = files(Some(&page), None);
        let put = json_in(&files, "page/index.html.json");
        assert_eq!(
            (&put["Key"], &put["ContentType"]),
            (&"index.html".into(), &"text/html; charset=utf-8".into())
        );
        assert!(put["Metadata"]["policy"].as_str().unwrap().contains("default-src"), "{put}");
        assert!(files.contains_key("page/index.html"));
    }

    #[test]
    fn what_pipelines_read_is_frozen() {
        let files = files_of(None, Some("artefacts"), with_edge_firewall);
        let fields = |file: &str| {
            let value = json_in(&files, file);
            value.as_object().unwrap().keys().map(|field| format!("{file} {field}")).collect::<Vec<_>>()
        };
        let template = json_in(&files, "template.json");
        let own =
            template["Parameters"].as_object().unwrap().keys().filter(|name| name.starts_with("Package"));
        let names = own.map(|name| format!("parameter {name}"));
        let version = &template["Outputs"]["Version"]["Value"];
        assert_eq!(version, env!("CARGO_PKG_VERSION"), "an older beekeeper reads it in the stack");
        let names = names.chain(["output Version".to_owned()]);
        let names = names.chain(["stack.json", "parameters.json"].into_iter().flat_map(fields));
        let of_edge = json_in(&files, "edge-firewall/template.json");
        let outputs =
            of_edge["Outputs"].as_object().unwrap().keys().map(|name| format!("edge-firewall output {name}"));
        let folders = ["template.json", "edge-firewall/template.json"].map(ToOwned::to_owned);
        frozen_names::assert_frozen(frozen_names::Section::Pipeline, names.chain(outputs).chain(folders));
    }
}
