//! The parts of a room that this program contains: the template and the function packages.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use config::{Architecture, RoomConfig};
use serde_json::{Value, json};

use crate::template::{Stack, TEMPLATE, TemplateError, parse};
use crate::{CloudError, CloudErrorKind, names};

/// A function as a zip file for Lambda.
#[derive(Clone, Debug)]
pub struct FunctionPackage {
    pub architecture: Architecture,
    /// The function's name in the template, in lower case.
    pub function: String,
    pub zip: Cow<'static, [u8]>,
}

impl FunctionPackage {
    /// The key in the artefact bucket. It contains the digest, so an unchanged package is not uploaded again, and a
    /// changed one does not overwrite the one before.
    pub(crate) fn key(&self) -> String {
        format!("functions/{}/{}.zip", self.function, names::sha256(&self.zip))
    }
}

/// The packages of all functions, for one or more architectures.
#[derive(Clone, Debug, Default)]
pub struct Bundle {
    packages: Vec<FunctionPackage>,
}

impl Bundle {
    pub fn new(packages: impl IntoIterator<Item = FunctionPackage>) -> Self {
        Self { packages: packages.into_iter().collect() }
    }

    /// The architectures that have packages.
    pub fn architectures(&self) -> BTreeSet<Architecture> {
        self.packages.iter().map(|package| package.architecture).collect()
    }

    /// The requested architecture. If none is requested, the cheapest one that has packages.
    pub(crate) fn choose(&self, requested: Option<Architecture>) -> Result<Architecture, CloudError> {
        let available = self.architectures();
        // The cheapest is the first in the order of `Architecture`.
        let chosen = requested.or_else(|| available.first().copied());
        chosen.filter(|chosen| available.contains(chosen)).ok_or_else(|| match requested {
            Some(architecture) if !available.is_empty() => {
                let reason = format!("this program contains no function packages for {architecture}");
                missing_package(reason, Some(architecture))
            }
            _ => missing_package("this program contains no function packages".into(), requested),
        })
    }

    pub(crate) fn packages(&self, architecture: Architecture) -> impl Iterator<Item = &FunctionPackage> {
        self.packages.iter().filter(move |package| package.architecture == architecture)
    }

    /// The template for CloudFormation, as JSON. Each function's code refers to its package in the bucket.
    pub(crate) fn template(&self, architecture: Architecture, bucket: &str) -> Result<String, CloudError> {
        let mut template = parse(TEMPLATE).map_err(|error| unreadable(&error))?;
        let keys: BTreeMap<_, _> =
            self.packages(architecture).map(|package| (package.function.as_str(), package.key())).collect();
        for function in functions(&template) {
            let Some(key) = keys.get(function.to_lowercase().as_str()) else {
                let reason =
                    format!("this program contains no package of the function {function} for {architecture}");
                return Err(missing_package(reason, None));
            };
            let resource = &mut template["Resources"][&function];
            resource["Properties"]["CodeUri"] = json!({ "Bucket": bucket, "Key": key });
            // `sam build` needs this to build the function. Here the function is already built.
            if let Some(resource) = resource.as_object_mut() {
                resource.remove("Metadata");
            }
        }
        Ok(template.to_string())
    }

    /// Changes whenever the setup function changes. That function contains the built-in page. CloudFormation calls
    /// the function again only when this value changes.
    pub(crate) fn page_version(&self, architecture: Architecture) -> Option<String> {
        let mut packages = self.packages(architecture);
        packages.find(|package| package.function == "setup").map(|package| names::sha256(&package.zip))
    }
}

fn missing_package(reason: String, architecture: Option<Architecture>) -> CloudError {
    let option = architecture.map_or(String::new(), |architecture| format!(" --arch {architecture}"));
    CloudError::new(CloudErrorKind::Other, "deploy a room", reason)
        .with_advice(format!("build a program that does, with: cargo xtask dist{option}"))
}

/// The names of the functions in the template.
fn functions(template: &Value) -> Vec<String> {
    let resources = template["Resources"].as_object().into_iter().flatten();
    let functions = resources.filter(|(_, resource)| resource["Type"] == "AWS::Serverless::Function");
    functions.map(|(name, _)| name.clone()).collect()
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
    let template = parse(TEMPLATE).map_err(|error| unreadable(&error))?;
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let declared = template["Parameters"].as_object().into_iter().flatten();
    let mut all: BTreeMap<_, _> = declared
        .filter_map(|(name, parameter)| Some((name.clone(), text(parameter.get("Default")?))))
        .collect();
    all.extend(parameters.iter().map(|(&name, value)| (name.to_owned(), value.clone())));
    Ok(all)
}

/// The template in this program cannot be read: a bug.
pub(crate) fn unreadable(error: &TemplateError) -> CloudError {
    CloudError::new(CloudErrorKind::Other, "use the template in this program", error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(functions: &[&str], architecture: Architecture) -> Bundle {
        Bundle::new(functions.iter().map(|function| FunctionPackage {
            architecture,
            function: (*function).to_owned(),
            zip: function.as_bytes().to_vec().into(),
        }))
    }

    const ALL: [&str; 5] = ["producer", "trigger", "consumer", "throttle", "setup"];

    #[test]
    fn the_template_refers_to_each_package_by_its_digest() {
        let template = bundle(&ALL, Architecture::Arm64).template(Architecture::Arm64, "bucket").unwrap();
        let template: Value = serde_json::from_str(&template).unwrap();
        let code = &template["Resources"]["Producer"]["Properties"]["CodeUri"];
        let expected = format!("functions/producer/{}.zip", names::sha256(b"producer"));
        assert_eq!(code, &json!({ "Bucket": "bucket", "Key": expected }));
        let functions = functions(&template);
        assert_eq!(functions.len(), ALL.len());
        let relative = template.to_string().contains("../target");
        assert!(!relative, "no path on this machine");
    }

    #[test]
    fn a_missing_package_is_reported_with_how_to_build_it() {
        let refused = |bundle: Bundle, requested| {
            let error = bundle
                .choose(requested)
                .and_then(|architecture| bundle.template(architecture, "bucket"))
                .unwrap_err();
            (error.reason(), error.advice().unwrap().to_owned())
        };
        let (reason, advice) = refused(Bundle::default(), None);
        assert_eq!(reason, "this program contains no function packages");
        assert_eq!(advice, "build a program that does, with: cargo xtask dist");
        let (reason, advice) = refused(bundle(&ALL, Architecture::Arm64), Some(Architecture::X86));
        assert_eq!(reason, "this program contains no function packages for x86_64");
        assert_eq!(advice, "build a program that does, with: cargo xtask dist --arch x86_64");
        let (reason, _) = refused(bundle(&ALL[..4], Architecture::Arm64), None);
        assert_eq!(reason, "this program contains no package of the function Setup for arm64");
    }

    #[test]
    fn the_cheaper_architecture_is_the_default() {
        let both =
            [Architecture::X86, Architecture::Arm64].map(|architecture| bundle(&ALL, architecture).packages);
        let both = Bundle::new(both.into_iter().flatten());
        assert_eq!(both.choose(None).unwrap(), Architecture::Arm64);
        assert_eq!(both.choose(Some(Architecture::X86)).unwrap(), Architecture::X86);
    }
}
