use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value};

/// The properties of one thing. Each that exists must be taken, or [`Properties::end`] fails.
pub(super) struct Properties<'a> {
    of: &'static str,
    left: Map<String, Value>,
    all: &'a Value,
}

impl<'a> Properties<'a> {
    pub(super) fn new(of: &'static str, all: &'a Value) -> Result<Self> {
        let left = all.as_object().with_context(|| format!("{of} has no properties: {all}"))?.clone();
        Ok(Self { of, left, all })
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.left.remove(name)
    }

    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => bail!("{name} of {} is no text: {other}", self.of),
        }
    }

    pub(super) fn needed(&mut self, name: &str) -> Result<String> {
        let found = self.text(name)?;
        found.with_context(|| format!("{} has no {name}: {}", self.of, self.all))
    }

    pub(super) fn number(&mut self, name: &str) -> Result<Option<u64>> {
        let found = self.take(name);
        found.map(|value| value.as_u64().with_context(|| format!("{name} is no number: {value}"))).transpose()
    }

    pub(super) fn flag(&mut self, name: &str) -> Result<bool> {
        match self.take(name) {
            None => Ok(false),
            Some(value) => {
                value.as_bool().with_context(|| format!("{name} is neither true nor false: {value}"))
            }
        }
    }

    pub(super) fn list(&mut self, name: &str) -> Result<Vec<Value>> {
        match self.take(name) {
            None => Ok(vec![]),
            Some(Value::Array(list)) => Ok(list),
            Some(other) => bail!("{name} is no list: {other}"),
        }
    }

    /// The list as texts, or these if it is not there.
    pub(super) fn texts(&mut self, name: &str, otherwise: &[&str]) -> Result<Vec<String>> {
        let list = self.list(name)?;
        if list.is_empty() {
            return Ok(otherwise.iter().map(ToString::to_string).collect());
        }
        let texts = list.iter().map(|value| value.as_str().map(str::to_owned));
        texts.collect::<Option<_>>().with_context(|| format!("{name} has something else than texts"))
    }

    pub(super) fn end(self) -> Result<()> {
        let names: Vec<_> = self.left.keys().collect();
        ensure!(names.is_empty(), "the edge does not know what to do with {names:?} of {}", self.of);
        Ok(())
    }
}

/// A text that may stand between quotes in nginx's configuration. There, nothing can say a quote or a `$`.
pub(super) fn quotable(text: &str) -> Result<&str> {
    ensure!(!text.contains(['"', '\\', '$', '\n', '\r']), "nginx cannot be told {text:?}");
    Ok(text)
}
