//! Routes of the API in the template, and their mapping templates.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::Stack;

/// The text of one mapping template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingTemplate(pub String);

/// One method of one path of the API.
#[derive(Clone, Debug)]
pub struct ApiMethod {
    definition: Value,
}

impl ApiMethod {
    pub fn of(stack: &Stack, method: &str, path: &str) -> Result<Self> {
        let api = stack.properties("Api")?;
        let definition = &api["DefinitionBody"]["paths"][path][method];
        definition
            .is_object()
            .then(|| Self { definition: definition.clone() })
            .with_context(|| format!("there is no {method} {path}"))
    }

    /// The mapping template that turns the visitor's request into a request to the table.
    pub fn request(&self) -> Result<MappingTemplate> {
        template(&self.integration()["requestTemplates"])
    }

    /// For a response of the table with this status: the mapping template that creates the visitor's response, and
    /// the status of that response.
    pub fn response(&self, status: u16) -> Result<(MappingTemplate, u16)> {
        let responses =
            self.integration()["responses"].as_object().context("an integration has responses")?;
        let status = status.to_string();
        let matching = responses.iter().find(|(pattern, _)| is_match(pattern, &status));
        let response = matching.map_or(&responses["default"], |(_, response)| response);
        let answers = response["statusCode"].as_str().and_then(|code| code.parse().ok());
        Ok((template(&response["responseTemplates"])?, answers.context("a response has a status")?))
    }

    pub fn integration(&self) -> &Value {
        &self.definition["x-amazon-apigateway-integration"]
    }

    pub fn definition(&self) -> &Value {
        &self.definition
    }
}

/// Selection patterns are regular expressions. This supports the two forms that the template uses.
fn is_match(pattern: &str, status: &str) -> bool {
    match pattern.strip_suffix(r"\d{2}") {
        Some(first) => status.starts_with(first) && status.len() == 3,
        None => pattern == status,
    }
}

fn template(by_type: &Value) -> Result<MappingTemplate> {
    let text = by_type["application/json"].as_str();
    anyhow::ensure!(
        by_type.as_object().is_some_and(|types| types.len() == 1),
        "one template for all types: {}",
        json!(by_type)
    );
    Ok(MappingTemplate(text.context("a template for application/json")?.to_owned()))
}
