/// All mistakes in the operator's input, not only the first one: one a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
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
