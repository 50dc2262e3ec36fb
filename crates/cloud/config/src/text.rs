//! Settings that are texts with rules of their own.

use std::fmt;

use crate::setting::{parsed, parsed_texts, text_of};
use crate::{Allowed, ConfigValue, SettingValue};

macro_rules! texts {
    ($($(#[$doc:meta])* $type:ident: $valid:ident, $rule:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $type(String);

        impl $type {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                if $valid(text) { Ok(Self(text.to_owned())) } else { Err($rule.to_owned()) }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

texts! {
    /// The number of an AWS account.
    AccountId: is_account, "must be the number of an AWS account: twelve digits in quotation marks";
    CertificateArn: is_certificate, "must be the ARN of a certificate, like arn:aws:acm:eu-central-1:012345678901:certificate/example";
    DomainName: is_domain, "must be a domain name in lower case, like queue.shop.example";
    EmailAddress: is_email, "must be one e-mail address; for several people, use a mailing list";
    /// A folder with a design or a page of the operator's own.
    PageFolder: is_line, "must be a folder, on one line";
    /// A profile of the operator's AWS configuration.
    ProfileName: is_line, "must be the name of an AWS profile, on one line";
}

parsed_texts! {
    AccountId: Allowed::Text, Self::as_str;
    CertificateArn: Allowed::Text, Self::as_str;
    DomainName: Allowed::Text, Self::as_str;
    EmailAddress: Allowed::Text, Self::as_str;
    ProfileName: Allowed::Text, Self::as_str;
}

impl CertificateArn {
    pub(crate) fn region(&self) -> &str {
        self.0.split(':').nth(3).unwrap_or_default()
    }
}

impl PageFolder {
    /// The values of the stack's parameter, which says only whether there is a custom page, not in which folder.
    const BUILT_IN: &str = "built-in";
    const CUSTOM: &str = "custom";
}

impl SettingValue for PageFolder {
    const ALLOWED: Allowed = Allowed::OneText(&[Self::BUILT_IN, Self::CUSTOM]);

    fn from_value(value: ConfigValue<'_>) -> Result<Self, String> {
        text_of(value)?.parse()
    }

    fn to_value(&self) -> ConfigValue<'_> {
        ConfigValue::Text(&self.0)
    }

    fn from_parameter(text: &str) -> Result<Option<Self>, String> {
        match text {
            Self::BUILT_IN => Ok(None),
            // In whatever folder on the operator's machine.
            Self::CUSTOM => Ok(Some(Self(text.into()))),
            _ => Err(format!("must be {} or {}", Self::BUILT_IN, Self::CUSTOM)),
        }
    }

    fn to_parameter(value: Option<&Self>) -> Option<String> {
        Some(if value.is_some() { Self::CUSTOM } else { Self::BUILT_IN }.to_owned())
    }
}

fn is_line(text: &str) -> bool {
    !text.trim().is_empty() && !text.chars().any(char::is_control)
}

fn is_account(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_certificate(text: &str) -> bool {
    is_line(text) && text.starts_with("arn:aws") && text.contains(":acm:") && !text.contains(' ')
}

fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    let last = text.rsplit('.').next().unwrap_or_default();
    text.len() <= 253
        && text.contains('.')
        && text.split('.').all(is_label)
        && last.len() > 1
        && last.bytes().all(|byte| byte.is_ascii_lowercase())
}

fn is_email(text: &str) -> bool {
    let domain = text.split_once('@').filter(|(name, _)| !name.is_empty()).map(|(_, domain)| domain);
    !text.chars().any(|c| c.is_whitespace() || c.is_control() || ",;".contains(c))
        && domain
            .is_some_and(|domain| domain.contains('.') && !domain.ends_with('.') && !domain.contains('@'))
}
