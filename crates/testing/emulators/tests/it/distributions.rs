use emulators::LocalEmu;
use serde_json::{Value, json};

use crate::boto::Boto;
use crate::edge_stack::{EdgeStack, text};

fn config(template: &mut Value) -> &mut Value {
    &mut template["Resources"]["Edge"]["Properties"]["DistributionConfig"]
}

fn kept(name: &str) -> Vec<Value> {
    let kept = LocalEmu::shared().unwrap().distributions().unwrap();
    let of = |kind: &str| kept[kind].as_array().unwrap().clone();
    ["Distributions", "OriginAccessControls"]
        .into_iter()
        .flat_map(of)
        .filter(|one| one["Stack"] == name)
        .collect()
}

#[test]
#[ignore = "needs LocalEmu: cargo xtask test emulators"]
fn a_stack_makes_changes_and_removes_a_distribution() {
    let mut stack = EdgeStack::create("edge-changes", |_| ());
    let [distribution, control] = kept("edge-changes").try_into().unwrap();
    let url = stack.output("Url");
    assert_eq!(distribution["Id"], stack.output("Id"));
    assert_eq!(distribution["DomainName"], stack.output("Domain"));
    assert_eq!(distribution["Tags"], json!({ "room": "edge-changes" }));
    let origin = &distribution["DistributionConfig"]["Origins"][0];
    assert_eq!(format!("https://{}/", text(&origin["DomainName"])), url);
    assert!(url.ends_with(".lambda-url.us-east-1.on.aws/"), "{url}");
    assert_eq!(origin["OriginAccessControlId"], control["Id"]);

    let change = |template: &mut Value| config(template)["PriceClass"] = "PriceClass_All".into();
    assert_eq!(stack.deploy("UPDATE", change), Ok("UPDATE_COMPLETE".to_owned()));
    let [changed, _] = kept("edge-changes").try_into().unwrap();
    assert_eq!(changed["DistributionConfig"]["PriceClass"], "PriceClass_All");
    assert_eq!((&changed["Id"], &changed["DomainName"]), (&distribution["Id"], &distribution["DomainName"]));

    assert_eq!(stack.delete(), Ok("DELETE_COMPLETE".to_owned()));
    assert_eq!(kept("edge-changes"), Vec::<Value>::new());
    let function = json!({ "FunctionName": "edge-changes" });
    assert_eq!(
        stack.aws.call("lambda", "get_function", function),
        Err("ResourceNotFoundException".to_owned())
    );
}

#[test]
#[ignore = "needs LocalEmu: cargo xtask test emulators"]
fn what_cloudfront_refuses_fails_the_stack() {
    let mut stack = EdgeStack::create("edge-refused", |_| ());
    let mut refuses = |change: &dyn Fn(&mut Value), why: &str| {
        let said = stack.deploy("UPDATE", |template| change(config(template))).unwrap_err();
        assert!(said.contains(why), "{why}: {said}");
    };
    refuses(&|config| config["Speed"] = "high".into(), "extraneous key ['Speed']");
    refuses(&|config| config["Enabled"] = "yes".into(), "'yes' is not of type 'boolean'");
    refuses(
        &|config| config["DefaultCacheBehavior"]["CachePolicyId"] = "unknown".into(),
        "NoSuchCachePolicy",
    );
    refuses(&|config| config["DefaultCacheBehavior"]["TargetOriginId"] = "shop".into(), "NoSuchOrigin: shop");
    refuses(
        &|config| config["DefaultCacheBehavior"]["AllowedMethods"] = json!(["GET", "POST"]),
        "InvalidArgument: methods",
    );
    refuses(
        &|config| config["Origins"][0]["OriginAccessControlId"] = "E0".into(),
        "NoSuchOriginAccessControl",
    );
    refuses(&|config| config["Origins"][0]["DomainName"] = "https://a.example".into(), "no name of a host");
    refuses(&|config| config["Aliases"] = json!(["sale.example"]), "need a certificate");
    let [distribution, _] = kept("edge-refused").try_into().unwrap();
    assert_eq!(distribution["DistributionConfig"]["Aliases"], Value::Null);
}

#[test]
#[ignore = "needs LocalEmu: cargo xtask test emulators"]
fn an_operator_needs_the_permissions_of_what_a_stack_makes() {
    let mut stack = EdgeStack::new("edge-operator");
    let mut root = Boto::new(LocalEmu::shared().unwrap().environment());
    root.call("iam", "create_user", json!({ "UserName": "edge-operator" })).unwrap();
    let key = root.call("iam", "create_access_key", json!({ "UserName": "edge-operator" })).unwrap();
    let mut environment = LocalEmu::shared().unwrap().environment();
    environment[1].1 = text(&key["AccessKey"]["AccessKeyId"]);
    environment[2].1 = text(&key["AccessKey"]["SecretAccessKey"]);
    stack.aws = Boto::new(environment);

    let mut allow = |missing: &str| {
        let tagged = json!({ "StringEquals": { "aws:RequestTag/room": "edge-operator" } });
        let own = json!({ "StringEquals": { "aws:ResourceTag/room": "edge-operator" } });
        let statements = [
            (json!({}), json!(["cloudformation:*", "iam:*", "s3:*"])),
            (tagged, json!(["cloudfront:CreateDistribution", "cloudfront:TagResource"])),
            (
                own,
                json!([
                    "cloudfront:*Distribution",
                    "cloudfront:GetDistributionConfig",
                    "cloudfront:ListTagsForResource"
                ]),
            ),
            (json!({}), json!(["cloudfront:*OriginAccessControl", "lambda:*"])),
        ];
        let mut statements: Vec<Value> = statements
            .map(|(condition, actions)| json!({ "Effect": "Allow", "Action": actions, "Resource": "*", "Condition": condition }))
            .into();
        statements.push(json!({ "Effect": "Deny", "Action": missing, "Resource": "*" }));
        let policy = json!({ "Version": "2012-10-17", "Statement": statements }).to_string();
        let policy =
            json!({ "UserName": "edge-operator", "PolicyName": "operator", "PolicyDocument": policy });
        root.call("iam", "put_user_policy", policy).unwrap();
    };
    for missing in [
        "cloudfront:CreateOriginAccessControl",
        "cloudfront:CreateDistribution",
        "cloudfront:TagResource",
        "lambda:CreateFunctionUrlConfig",
        "lambda:AddPermission",
    ] {
        allow(missing);
        let said = stack.deploy("CREATE", |_| ()).unwrap_err();
        let named = format!("is not authorized to perform: {missing} on resource: arn:aws:");
        assert!(
            said.contains(&named) && said.contains("HandlerErrorCode: AccessDenied"),
            "{missing}: {said}"
        );
        allow("nothing:AtAll");
        assert_eq!(stack.delete(), Ok("DELETE_COMPLETE".to_owned()));
    }
    assert_eq!(stack.deploy("CREATE", |_| ()), Ok("CREATE_COMPLETE".to_owned()));
    allow("cloudfront:UpdateDistribution");
    let change = |template: &mut Value| config(template)["PriceClass"] = "PriceClass_All".into();
    let said = stack.deploy("UPDATE", change).unwrap_err();
    assert!(said.contains("not authorized to perform: cloudfront:UpdateDistribution"), "{said}");
    allow("cloudfront:DeleteDistribution");
    let said = stack.delete().unwrap_err();
    assert!(said.contains("not authorized to perform: cloudfront:DeleteDistribution"), "{said}");
    allow("nothing:AtAll");
    assert_eq!(stack.delete(), Ok("DELETE_COMPLETE".to_owned()));
}
