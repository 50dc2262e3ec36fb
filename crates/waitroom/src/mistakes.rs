use std::fmt;

/// All mistakes in the operator's input, not only the first one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistakes(Vec<String>);

impl From<Vec<String>> for Mistakes {
    fn from(mistakes: Vec<String>) -> Self {
        Self(mistakes)
    }
}

impl Mistakes {
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// One mistake a line.
impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for Mistakes {}
