//! The environment variables of a function, which say where its resources are. The operator's settings are in the
//! ledger.

use std::env;

use aws::RoomResources;

/// The variables that every function needs.
#[derive(Clone, Debug)]
pub struct Environment {
    pub resources: RoomResources,
    /// The room's name, for the log and for the dimension of its metrics.
    pub room: String,
}

/// All variables that are missing or empty.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("missing environment variables: {}; the template sets them, so deploy the stack again", .0.join(", "))]
pub struct MissingVariables(Vec<&'static str>);

impl Environment {
    /// Reads the environment of this process.
    pub fn read() -> Result<Self, MissingVariables> {
        Self::from(|name| env::var(name).ok())
    }

    fn from(get: impl Fn(&str) -> Option<String>) -> Result<Self, MissingVariables> {
        let mut missing = Vec::new();
        let environment = Self {
            resources: RoomResources {
                ledger_table: needed("LEDGER_TABLE", &get, &mut missing),
                line_url: needed("LINE_URL", &get, &mut missing),
                dead_letters_url: needed("DEAD_LETTERS_URL", &get, &mut missing),
            },
            room: needed("ROOM_NAME", &get, &mut missing),
        };
        if missing.is_empty() { Ok(environment) } else { Err(MissingVariables(missing)) }
    }
}

/// A variable that only one function needs.
pub fn variable(name: &'static str) -> Result<String, MissingVariables> {
    let mut missing = Vec::new();
    let value = needed(name, &|name: &str| env::var(name).ok(), &mut missing);
    if missing.is_empty() { Ok(value) } else { Err(MissingVariables(missing)) }
}

fn needed(
    name: &'static str,
    get: &impl Fn(&str) -> Option<String>,
    missing: &mut Vec<&'static str>,
) -> String {
    get(name).filter(|value| !value.is_empty()).unwrap_or_else(|| {
        missing.push(name);
        String::new()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_missing_is_named_at_once() {
        let get = |name: &str| match name {
            "LINE_URL" => Some("https://sqs.example/line".into()),
            "ROOM_NAME" => Some(String::new()),
            _ => None,
        };
        let error = Environment::from(get).unwrap_err();
        assert_eq!(error, MissingVariables(vec!["LEDGER_TABLE", "DEAD_LETTERS_URL", "ROOM_NAME"]));
        let text = "missing environment variables: LEDGER_TABLE, DEAD_LETTERS_URL, ROOM_NAME; the template sets them, so deploy the stack again";
        assert_eq!(error.to_string(), text);
        let environment = Environment::from(|name| Some(name.to_lowercase())).unwrap();
        assert_eq!(environment.resources.dead_letters_url, "dead_letters_url");
    }
}
