use std::fmt;
use std::str::FromStr;

use aws::{SharedSessions, tuned};

use crate::{Access, Account, CloudError, CloudErrorKind};

/// The table in which several guards share their sessions, by its ARN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionTable {
    arn: String,
    region: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not the ARN of a table, such as arn:aws:dynamodb:eu-central-1:123456789012:table/beekeeper-spring-sale-sessions"
)]
pub struct SessionTableError;

impl FromStr for SessionTable {
    type Err = SessionTableError;

    fn from_str(arn: &str) -> Result<Self, SessionTableError> {
        let parts: Vec<_> = arn.split(':').collect();
        let &["arn", _, "dynamodb", region, account, table] = &*parts else { return Err(SessionTableError) };
        let is_table =
            table.strip_prefix("table/").is_some_and(|name| !name.is_empty() && !name.contains('/'));
        if region.is_empty() || account.len() != 12 || !is_table {
            return Err(SessionTableError);
        }
        Ok(Self { arn: arn.into(), region: region.into() })
    }
}

impl fmt::Display for SessionTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.arn)
    }
}

impl SessionTable {
    /// Opens the table with the credentials of this machine, and reads it once.
    pub async fn open(&self) -> Result<SharedSessions, CloudError> {
        let access = Access { region: self.region.clone(), aws_profile: None, account: None };
        let account = Account::sign_in(&access).await?;
        let sessions = SharedSessions::new(&tuned(account.config), self.arn.clone());
        sessions.check().await.map_err(|error| {
            CloudError::caused_by(CloudErrorKind::Other, format!("use the table {self}"), error).with_advice(
                "it needs the key `id`, a string, and the permissions dynamodb:GetItem, PutItem and UpdateItem: \
                 docs/guard.md has the command that creates it",
            )
        })?;
        Ok(sessions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_arn_of_a_table_is_one() {
        let arn = "arn:aws:dynamodb:eu-central-1:123456789012:table/spring-sale-sessions";
        let table: SessionTable = arn.parse().unwrap();
        assert_eq!((&*table.region, table.to_string().as_str()), ("eu-central-1", arn));
        for wrong in [
            "spring-sale-sessions",
            "arn:aws:dynamodb:eu-central-1:123456789012:table/",
            "arn:aws:dynamodb:eu-central-1:123456789012:table/a/index/b",
            "arn:aws:dynamodb::123456789012:table/a",
            "arn:aws:dynamodb:eu-central-1:me:table/a",
            "arn:aws:s3:::bucket",
        ] {
            assert_eq!(wrong.parse::<SessionTable>(), Err(SessionTableError), "{wrong}");
        }
    }
}
