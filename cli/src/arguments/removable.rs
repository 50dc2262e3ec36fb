use std::str::FromStr;

/// The value of a flag for an optional setting. An empty text removes the setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Removable<T> {
    Value(T),
    Nothing,
}

impl<T: Clone> Removable<T> {
    /// The setting after the flag. Without the flag it stays as it was.
    pub(crate) fn or_kept(flag: Option<&Self>, kept: Option<T>) -> Option<T> {
        match flag {
            None => kept,
            Some(Self::Value(value)) => Some(value.clone()),
            Some(Self::Nothing) => None,
        }
    }
}

impl<T: FromStr> FromStr for Removable<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, T::Err> {
        if text.trim().is_empty() { Ok(Self::Nothing) } else { text.parse().map(Self::Value) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_text_removes_the_setting() {
        let after = |flag: Option<&str>| {
            let flag: Option<Removable<u8>> = flag.map(|text| text.parse().unwrap());
            Removable::or_kept(flag.as_ref(), Some(1))
        };
        assert_eq!(
            [after(None), after(Some("2")), after(Some("")), after(Some(" "))],
            [Some(1), Some(2), None, None]
        );
        assert!("many".parse::<Removable<u8>>().is_err());
    }
}
