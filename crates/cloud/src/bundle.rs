//! What a beekeeper carries of a room: the template, and the packages of its functions.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::template::{Stack, TEMPLATE, parse};
use serde_json::{Value, json};

use crate::{Architecture, CloudError, Kind, names};

/// A function, zipped for Lambda.
#[derive(Clone, Debug)]
pub struct FunctionPackage {
    pub architecture: Architecture,
    /// As the template calls it, in lower case.
    pub function: String,
    pub zip: Cow<'static, [u8]>,
}

impl FunctionPackage {
    /// Called by what is in it: an unchanged package is not sent again, and a changed one is another.
    pub(crate) fn key(&self) -> String {
        format!("functions/{}/{}.zip", self.function, names::sha256(&self.zip))
    }
}

/// Packages of all functions, for one architecture or more.
#[derive(Clone, Debug, Default)]
pub struct Bundle {
    packages: Vec<FunctionPackage>,
}

impl Bundle {
    pub fn new(packages: impl IntoIterator<Item = FunctionPackage>) -> Self {
        Self { packages: packages.into_iter().collect() }
    }

    /// What there are packages for.
    pub fn architectures(&self) -> BTreeSet<Architecture> {
        self.packages.iter().map(|package| package.architecture).collect()
    }

    /// The one that is wanted, or the cheaper one of those that there are.
    pub(crate) fn choose(&self, wanted: Option<Architecture>) -> Result<Architecture, CloudError> {
        let carried = self.architectures();
        let chosen = wanted.or_else(|| carried.first().copied());
        chosen.filter(|chosen| carried.contains(chosen)).ok_or_else(|| {
            let reason = match wanted {
                Some(wanted) if !carried.is_empty() => {
                    format!("this beekeeper carries no function packages for {wanted}")
                }
                _ => "this beekeeper carries no function packages".into(),
            };
            let advice = match wanted {
                Some(wanted) => format!("build one with: cargo xtask dist --arch {wanted}"),
                None => "build one with: cargo xtask dist".into(),
            };
            CloudError::new(Kind::Failed, "deploy a room", reason).advise(advice)
        })
    }

    pub(crate) fn packages(&self, architecture: Architecture) -> impl Iterator<Item = &FunctionPackage> {
        self.packages.iter().filter(move |package| package.architecture == architecture)
    }

    /// The template as CloudFormation takes it from a bucket: JSON, with the functions' code where it lies.
    pub(crate) fn template(&self, architecture: Architecture, bucket: &str) -> Result<String, CloudError> {
        let mut template = parse(TEMPLATE).map_err(|error| misread(&error))?;
        let keys: BTreeMap<_, _> =
            self.packages(architecture).map(|package| (package.function.as_str(), package.key())).collect();
        for function in functions(&template) {
            let Some(key) = keys.get(function.to_lowercase().as_str()) else {
                let reason = format!(
                    "this beekeeper carries no package of the function {function} for {architecture}"
                );
                return Err(CloudError::new(Kind::Failed, "deploy a room", reason)
                    .advise("build one with: cargo xtask dist"));
            };
            let resource = &mut template["Resources"][&function];
            resource["Properties"]["CodeUri"] = json!({ "Bucket": bucket, "Key": key });
            // How `sam build` makes it: here it is made.
            if let Some(resource) = resource.as_object_mut() {
                resource.remove("Metadata");
            }
        }
        Ok(template.to_string())
    }

    /// Another text whenever the setup is another one: it brings our page.
    pub(crate) fn page_version(&self, architecture: Architecture) -> Option<String> {
        let mut packages = self.packages(architecture);
        packages.find(|package| package.function == "setup").map(|package| names::sha256(&package.zip))
    }
}

/// The names of the functions in the template.
fn functions(template: &Value) -> Vec<String> {
    let resources = template["Resources"].as_object().into_iter().flatten();
    let functions = resources.filter(|(_, resource)| resource["Type"] == "AWS::Serverless::Function");
    functions.map(|(name, _)| name.clone()).collect()
}

/// The template with these parameters, to be asked what is in it.
pub(crate) fn stack(parameters: &BTreeMap<&'static str, String>) -> Result<Stack, CloudError> {
    let parameters: Vec<_> = parameters.iter().map(|(&name, value)| (name, value.as_str())).collect();
    Stack::with(&parameters).map_err(|error| misread(&error))
}

/// These parameters, and the template's values for the others: what CloudFormation would do with those that are not
/// named depends on what the stack was made with.
pub(crate) fn all_parameters(
    given: &BTreeMap<&'static str, String>,
) -> Result<BTreeMap<String, String>, CloudError> {
    let template = parse(TEMPLATE).map_err(|error| misread(&error))?;
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let declared = template["Parameters"].as_object().into_iter().flatten();
    let mut all: BTreeMap<_, _> = declared
        .filter_map(|(name, parameter)| Some((name.clone(), text(parameter.get("Default")?))))
        .collect();
    all.extend(given.iter().map(|(&name, value)| (name.to_owned(), value.clone())));
    Ok(all)
}

pub(crate) fn misread(error: &crate::template::Misread) -> CloudError {
    CloudError::new(Kind::Failed, "use the template that this beekeeper carries", error.to_string())
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
    fn the_template_names_each_package_by_what_is_in_it() {
        let template = bundle(&ALL, Architecture::Arm64).template(Architecture::Arm64, "bucket").unwrap();
        let template: Value = serde_json::from_str(&template).unwrap();
        let code = &template["Resources"]["Producer"]["Properties"]["CodeUri"];
        let expected = format!("functions/producer/{}.zip", names::sha256(b"producer"));
        assert_eq!(code, &json!({ "Bucket": "bucket", "Key": expected }));
        let functions = functions(&template);
        assert_eq!(functions.len(), ALL.len());
        let relative = template.to_string().contains("../target");
        assert!(!relative, "nothing is looked for on this machine");
    }

    #[test]
    fn a_missing_package_is_told_with_how_to_get_it() {
        let told = |bundle: Bundle, wanted| {
            let trouble = bundle
                .choose(wanted)
                .and_then(|architecture| bundle.template(architecture, "bucket"))
                .unwrap_err();
            (std::error::Error::source(&trouble).unwrap().to_string(), trouble.advice().unwrap().to_owned())
        };
        let (said, advice) = told(Bundle::default(), None);
        assert_eq!(said, "this beekeeper carries no function packages");
        assert_eq!(advice, "build one with: cargo xtask dist");
        let (said, advice) = told(bundle(&ALL, Architecture::Arm64), Some(Architecture::X86));
        assert_eq!(said, "this beekeeper carries no function packages for x86_64");
        assert_eq!(advice, "build one with: cargo xtask dist --arch x86_64");
        let (said, _) = told(bundle(&ALL[..4], Architecture::Arm64), None);
        assert_eq!(said, "this beekeeper carries no package of the function Setup for arm64");
    }

    #[test]
    fn the_cheaper_architecture_is_taken_where_there_are_both() {
        let both =
            [Architecture::X86, Architecture::Arm64].map(|architecture| bundle(&ALL, architecture).packages);
        let both = Bundle::new(both.into_iter().flatten());
        assert_eq!(both.choose(None).unwrap(), Architecture::Arm64);
        assert_eq!(both.choose(Some(Architecture::X86)).unwrap(), Architecture::X86);
    }
}
