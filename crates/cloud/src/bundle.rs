//! The parts of a room that this program contains: the template and the function package.

use std::borrow::Cow;
use std::collections::BTreeMap;

use config::{Architecture, EdgeSetting, RoomConfig};
use serde_json::{Map, json};

use crate::template::{self, Stack, TEMPLATE, TemplateError, parse};
use crate::{CloudError, CloudErrorKind, names};

/// The parameters that say where the package of the functions is.
pub(crate) const PACKAGE_BUCKET: &str = "PackageBucket";
pub(crate) const PACKAGE_KEY: &str = "PackageKey";

/// The parameter for the ARN of the firewall in front of an edge.
pub(crate) const EDGE_FIREWALL: &str = "EdgeFirewallArn";

/// The program of all functions as a zip file for Lambda.
#[derive(Clone, Debug)]
pub struct FunctionPackage {
    pub architecture: Architecture,
    pub zip: Cow<'static, [u8]>,
}

impl FunctionPackage {
    /// Changes whenever a function changes. The function setup contains the built-in page. CloudFormation calls it
    /// again only when this value changes.
    pub(crate) fn page_version(&self) -> String {
        names::sha256(&self.zip)
    }

    /// The key in the artefact bucket. It contains the digest, so an unchanged package is not uploaded again, and a
    /// changed one does not overwrite the one before.
    pub(crate) fn key(&self) -> String {
        format!("functions/{}.zip", names::sha256(&self.zip))
    }

    /// Every parameter of a room's stack but the bucket with the package.
    pub(crate) fn parameters(&self, config: &RoomConfig) -> Result<BTreeMap<String, String>, CloudError> {
        let mut parameters = with_defaults(&parameters(config, self.architecture))?;
        parameters.insert("PageVersion".into(), self.page_version());
        parameters.insert(PACKAGE_KEY.into(), self.key());
        Ok(parameters)
    }
}

/// The function packages for one or more architectures.
#[derive(Clone, Debug, Default)]
pub struct Bundle {
    packages: Vec<FunctionPackage>,
}

impl Bundle {
    pub fn new(packages: impl IntoIterator<Item = FunctionPackage>) -> Self {
        Self { packages: packages.into_iter().collect() }
    }

    /// Fails if there are no functions for this room.
    pub fn refuse_missing(&self, config: &RoomConfig) -> Result<(), CloudError> {
        self.choose(config.architecture).map(drop)
    }

    /// The package for the requested architecture. If none is requested, for the cheapest one that has a package.
    pub(crate) fn choose(&self, requested: Option<Architecture>) -> Result<&FunctionPackage, CloudError> {
        let fits =
            |package: &&FunctionPackage| requested.is_none_or(|requested| package.architecture == requested);
        // The cheapest is the first in the order of `Architecture`.
        let chosen = self.packages.iter().filter(fits).min_by_key(|package| package.architecture);
        chosen.ok_or_else(|| match requested {
            Some(architecture) if !self.packages.is_empty() => {
                let reason = format!("this program contains no function package for {architecture}");
                missing_package(reason, Some(architecture))
            }
            _ => missing_package("this program contains no function package".into(), requested),
        })
    }
}

/// The template for CloudFormation, as JSON. The code of every function is the package that two parameters name.
///
/// Without an edge, the template has none of its resources: some regions do not know their types, and refuse a template that
/// names them under a condition, too.
pub(crate) fn template(edge: EdgeSetting) -> Result<String, CloudError> {
    let mut template = parse(TEMPLATE).map_err(|error| unreadable(&error))?;
    if !edge.answers() {
        template = template::without(template, "HasEdge");
    }
    for (name, description) in [
        (PACKAGE_BUCKET, "The bucket with the package of the functions."),
        (PACKAGE_KEY, "The key of the package in that bucket."),
    ] {
        template["Parameters"][name] = json!({ "Type": "String", "Description": description });
    }
    template["Outputs"]["Version"] = json!({
        "Description": "The beekeeper that deployed this. An older one deploys nothing here.",
        "Value": env!("CARGO_PKG_VERSION"),
    });
    for resource in template["Resources"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        if resource["Type"] != "AWS::Serverless::Function" {
            continue;
        }
        let code = json!({ "Bucket": { "Ref": PACKAGE_BUCKET }, "Key": { "Ref": PACKAGE_KEY } });
        resource["Properties"]["CodeUri"] = code;
        // `sam build` needs this to build the function. Here the function is already built.
        if let Some(resource) = resource.as_object_mut() {
            resource.remove("Metadata");
        }
    }
    Ok(template.to_string())
}

fn missing_package(reason: String, architecture: Option<Architecture>) -> CloudError {
    let option = architecture.map_or(String::new(), |architecture| format!(" --arch {architecture}"));
    CloudError::new(CloudErrorKind::Other, "deploy a room", reason)
        .with_advice(format!("build a program that does, with: cargo xtask dist{option}"))
}

/// The parameters of a room, with the architecture that was chosen for it.
pub(crate) fn parameters(config: &RoomConfig, architecture: Architecture) -> BTreeMap<&'static str, String> {
    let config = RoomConfig { architecture: Some(architecture), ..config.clone() };
    config.parameters()
}

/// The template with these parameters, to look up resources.
pub(crate) fn stack(parameters: &BTreeMap<&'static str, String>) -> Result<Stack, CloudError> {
    let parameters: Vec<_> = parameters.iter().map(|(&name, value)| (name, value.as_str())).collect();
    Stack::with(&parameters).map_err(|error| unreadable(&error))
}

/// These parameters, and the template's defaults for the others. All of them are passed to CloudFormation: on an
/// update it does not use the default for a parameter that is left out.
pub(crate) fn with_defaults(
    parameters: &BTreeMap<&'static str, String>,
) -> Result<BTreeMap<String, String>, CloudError> {
    Ok(stack(parameters)?.parameters())
}

/// The template in this program cannot be read: a bug.
pub(crate) fn unreadable(error: &TemplateError) -> CloudError {
    CloudError::new(CloudErrorKind::Other, "use the template in this program", error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(architecture: Architecture) -> FunctionPackage {
        FunctionPackage { architecture, zip: b"program".as_slice().into() }
    }

    #[test]
    fn without_an_edge_no_region_meets_a_type_that_it_does_not_know() {
        for (edge, expected) in
            [(EdgeSetting::No, false), (EdgeSetting::Moving, true), (EdgeSetting::Yes, true)]
        {
            let text = template(edge).unwrap();
            for of_edge in [
                "AWS::CloudFront::",
                "AWS::Lambda::Url",
                "\"Distribution",
                "DoorUrl",
                "DoorAccess",
                "DoorHeaders",
                "PageHeaders",
            ] {
                assert_eq!(text.contains(of_edge), expected, "{edge} {of_edge}");
            }
        }
    }

    #[test]
    fn the_code_of_every_function_is_the_one_package() {
        let template: serde_json::Value = serde_json::from_str(&template(EdgeSetting::No).unwrap()).unwrap();
        let functions = template["Resources"].as_object().unwrap().values();
        let functions: Vec<_> =
            functions.filter(|resource| resource["Type"] == "AWS::Serverless::Function").collect();
        assert_eq!(functions.len(), 5);
        let code = json!({ "Bucket": { "Ref": "PackageBucket" }, "Key": { "Ref": "PackageKey" } });
        for function in functions {
            assert_eq!(function["Properties"]["CodeUri"], code);
            assert_eq!(function.get("Metadata"), None);
        }
        assert!(!template.to_string().contains("../target"), "no path on this machine");
    }

    #[test]
    fn a_missing_package_is_reported_with_how_to_build_it() {
        let refused = |bundle: Bundle, requested| {
            let error = bundle.choose(requested).unwrap_err();
            (error.reason(), error.advice().unwrap().to_owned())
        };
        let (reason, advice) = refused(Bundle::default(), None);
        assert_eq!(reason, "this program contains no function package");
        assert_eq!(advice, "build a program that does, with: cargo xtask dist");
        let (reason, advice) = refused(Bundle::new([package(Architecture::Arm64)]), Some(Architecture::X86));
        assert_eq!(reason, "this program contains no function package for x86_64");
        assert_eq!(advice, "build a program that does, with: cargo xtask dist --arch x86_64");
    }

    #[test]
    fn the_cheaper_architecture_is_the_default() {
        let both = Bundle::new([Architecture::X86, Architecture::Arm64].map(package));
        let chosen = |requested| both.choose(requested).unwrap().architecture;
        assert_eq!(chosen(None), Architecture::Arm64);
        assert_eq!(chosen(Some(Architecture::X86)), Architecture::X86);
    }
}
