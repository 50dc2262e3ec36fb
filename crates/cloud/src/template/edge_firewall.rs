//! The template of the firewall in front of an edge, made from that of the API's: the same rules, where CloudFront looks for them.

use std::fmt;

use serde_json::{Map, Value, json};

use super::{Result, TEMPLATE, TemplateError, parse};

/// The names of what it takes from the room's template.
const PARAMETERS: [&str; 5] =
    ["Room", "DoorRequestsPerAddress", "DoorChallengeAbove", "DoorWindowSeconds", "RequestsPerAddress"];
const CONDITIONS: [&str; 4] = ["HasAddressLimit", "HasDoorLimit", "HasDoorChallenge", "ChallengesEverybody"];

/// The gateway response that a visitor gets from the API whom its firewall refuses.
const REFUSED: &str = "WAF_FILTERED";
const RESPONSES: &str = "x-amazon-apigateway-gateway-responses";

/// A template for CloudFormation.
#[derive(Clone, Debug)]
pub struct EdgeFirewall(Value);

impl EdgeFirewall {
    pub(crate) const RESOURCE: &str = "Firewall";
    pub(crate) const TYPE: &str = "AWS::WAFv2::WebACL";

    pub fn read() -> Result<Self> {
        let mut room = parse(TEMPLATE)?;
        let busy = busy_page(&room)?;
        let mut taken = |section: &str, names: &[&str]| -> Result<Map<String, Value>> {
            names.iter().map(|&name| Ok((name.to_owned(), take(&mut room, section, name)?))).collect()
        };
        let (parameters, conditions) = (taken("Parameters", &PARAMETERS)?, taken("Conditions", &CONDITIONS)?);
        let mut resources = taken("Resources", &[Self::RESOURCE])?;
        let firewall = &mut resources[Self::RESOURCE];
        if let Some(firewall) = firewall.as_object_mut() {
            firewall.remove("Condition");
        }
        let properties = &mut firewall["Properties"];
        properties["Scope"] = json!("CLOUDFRONT");
        // There is no API to answer for it. Without this, a visitor would read an error of CloudFront's, and no page that tries again.
        properties["CustomResponseBodies"] =
            json!({ "busy": { "ContentType": "TEXT_HTML", "Content": busy } });
        answer_refused(&mut properties["Rules"]);
        Ok(Self(json!({
            "AWSTemplateFormatVersion": "2010-09-09",
            "Description": "The firewall of a Beekeeper waiting room behind CloudFront.",
            "Parameters": parameters,
            "Conditions": conditions,
            "Resources": resources,
            "Outputs": { "FirewallArn": {
                "Description": "For the parameter EdgeFirewallArn of the room's stack.",
                "Value": { "Fn::GetAtt": [Self::RESOURCE, "Arn"] },
            } },
        })))
    }

    pub(crate) fn asks_for(&self, parameter: &str) -> bool {
        self.0["Parameters"].get(parameter).is_some()
    }
}

impl fmt::Display for EdgeFirewall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn take(template: &mut Value, section: &str, name: &str) -> Result<Value> {
    let found = template[section].get_mut(name).map(Value::take);
    found.ok_or_else(|| TemplateError(format!("{section} has no {name}")))
}

/// The page that the API sends to a visitor whom its firewall refuses.
fn busy_page(template: &Value) -> Result<Value> {
    let responses = &template["Resources"]["Api"]["Properties"]["DefinitionBody"][RESPONSES];
    let page = &responses[REFUSED]["responseTemplates"]["text/html"];
    page.is_string().then(|| page.clone()).ok_or_else(|| TemplateError(format!("{REFUSED} has no page")))
}

/// Makes every rule that refuses a visitor answer as the API does.
fn answer_refused(rules: &mut Value) {
    match rules {
        Value::Array(items) => items.iter_mut().for_each(answer_refused),
        Value::Object(members) => match members.get_mut("Block") {
            Some(block) => {
                *block = json!({ "CustomResponse": {
                    "ResponseCode": 429,
                    "CustomResponseBodyKey": "busy",
                    "ResponseHeaders": [
                        { "Name": "Retry-After", "Value": "30" },
                        { "Name": "Cache-Control", "Value": "no-store" },
                    ],
                } });
            }
            None => members.values_mut().for_each(answer_refused),
        },
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// AWS's limit for the page of a firewall, in bytes.
    const LARGEST_PAGE: usize = 4096;

    fn each<'a>(value: &'a Value, found: &mut impl FnMut(&'a str, &'a Value)) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| each(item, found)),
            Value::Object(members) => {
                for (name, member) in members {
                    found(name, member);
                    each(member, found);
                }
            }
            _ => {}
        }
    }

    #[test]
    fn it_has_the_rules_of_the_apis_firewall_and_answers_as_the_api_does() {
        let firewall = EdgeFirewall::read().unwrap().0;
        let room = parse(TEMPLATE).unwrap();
        let properties = &firewall["Resources"]["Firewall"]["Properties"];
        assert_eq!(
            (&properties["Scope"], &firewall["Resources"]["Firewall"]["Condition"]),
            (&json!("CLOUDFRONT"), &Value::Null)
        );
        let refused = &room["Resources"]["Api"]["Properties"]["DefinitionBody"][RESPONSES][REFUSED];
        let header = |name: &str| {
            let value =
                refused["responseParameters"][format!("gatewayresponse.header.{name}")].as_str().unwrap();
            json!({ "Name": name, "Value": value.trim_matches('\'') })
        };
        let answer = json!({
            "ResponseCode": refused["statusCode"].as_str().unwrap().parse::<u16>().unwrap(),
            "CustomResponseBodyKey": "busy",
            "ResponseHeaders": [header("Retry-After"), header("Cache-Control")],
        });
        let mut refusing = 0;
        each(&properties["Rules"], &mut |name, block| {
            if name == "Block" {
                refusing += 1;
                assert_eq!(block["CustomResponse"], answer);
            }
        });
        assert_eq!(refusing, 2);
        let mut plain = room["Resources"]["Firewall"]["Properties"]["Rules"].clone();
        answer_refused(&mut plain);
        assert_eq!(properties["Rules"], plain);
        let page = properties["CustomResponseBodies"]["busy"]["Content"].as_str().unwrap();
        assert!(page.contains("One moment, please") && page.len() <= LARGEST_PAGE, "{}", page.len());
    }

    #[test]
    fn it_has_all_that_its_rules_refer_to_and_nothing_else() {
        let firewall = EdgeFirewall::read().unwrap().0;
        let (mut parameters, mut conditions) = (BTreeSet::new(), BTreeSet::new());
        each(&firewall, &mut |name, value| match (name, value.as_str()) {
            ("Ref", Some(reference)) if !reference.starts_with("AWS::") => drop(parameters.insert(reference)),
            ("Fn::If", None) => drop(conditions.insert(value[0].as_str().unwrap())),
            ("Condition", Some(condition)) => drop(conditions.insert(condition)),
            _ => {}
        });
        let names = |section: &str| {
            firewall[section].as_object().unwrap().keys().map(String::as_str).collect::<BTreeSet<_>>()
        };
        assert_eq!((names("Parameters"), names("Conditions")), (parameters, conditions));
    }
}
