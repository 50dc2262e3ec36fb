//! What a function is told by its environment: where things are. What the operator decides lies in the ledger.

use std::env;

use aws::RoomResources;

/// What every function is told.
#[derive(Clone, Debug)]
pub struct Environment {
    pub places: RoomResources,
    /// The room's name, by which its metrics are told from another room's.
    pub room: String,
}

/// Variables that are missing or empty: all of them, not only the first.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the environment lacks {}; deploy the stack again, its template sets them", .0.join(", "))]
pub struct MissingVariables(Vec<&'static str>);

impl Environment {
    /// What this process was told.
    pub fn read() -> Result<Self, MissingVariables> {
        Self::from(|name| env::var(name).ok())
    }

    fn from(get: impl Fn(&str) -> Option<String>) -> Result<Self, MissingVariables> {
        let mut missing = Vec::new();
        let environment = Self {
            places: RoomResources {
                ledger_table: needed("LEDGER_TABLE", &get, &mut missing),
                line_url: needed("LINE_URL", &get, &mut missing),
                dead_letters_url: needed("DEAD_LETTERS_URL", &get, &mut missing),
            },
            room: needed("ROOM_NAME", &get, &mut missing),
        };
        if missing.is_empty() { Ok(environment) } else { Err(MissingVariables(missing)) }
    }
}

/// One more variable, for the one function that needs it.
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
        let said = "the environment lacks LEDGER_TABLE, DEAD_LETTERS_URL, ROOM_NAME; deploy the stack again, its template sets them";
        assert_eq!(error.to_string(), said);
        let environment = Environment::from(|name| Some(name.to_lowercase())).unwrap();
        assert_eq!(environment.places.dead_letters_url, "dead_letters_url");
    }
}
