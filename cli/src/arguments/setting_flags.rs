//! The settings that have a flag, in `init` and in `local`.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result};
use clap::{Args, ValueHint};
use config::{LifetimeMinutes, MostActive, MostSurplus, PageFolder, RoomConfig, SessionMinutes};
use waitroom::{Mode, Rate, Title, WebUrl};

use super::number::rate;
use super::which::KNOWS_AWS;
use super::{Removable, Throttling, time};
use crate::exit::{Exit, Failure};

const RATE: &str = if KNOWS_AWS {
    "Visitors who may enter a minute, from 1 to 270000. An AWS account may bear less: docs/crowd.md"
} else {
    "Visitors who may enter a minute, from 1 to 270000"
};

#[derive(Clone, Debug, Default, PartialEq, Args)]
pub(crate) struct SettingFlags {
    /// Title that visitors see
    #[arg(long)]
    pub(crate) title: Option<Title>,
    /// URL of the shop, where admitted visitors are sent
    #[arg(long, value_name = "URL", visible_alias = "origin")]
    pub(crate) shop: Option<WebUrl>,
    #[arg(long, value_parser = rate, help = RATE, allow_negative_numbers = true)]
    pub(crate) rate: Option<Rate>,
    /// `overflow`: newcomers go straight in while nobody waits, and only beyond the rate a line forms. `observe`: everybody goes
    /// straight in, and is counted [default: line]
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
    /// Let in up to so many percent more, to make up for visitors who don't come; 0 for none: docs/no-shows.md
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true)]
    pub(crate) oversubscribe: Option<MostSurplus>,
    /// At most so many visitors in the shop at once; 0 for any number: docs/active-visitors.md
    #[arg(long, value_name = "VISITORS", allow_negative_numbers = true)]
    pub(crate) active_visitors: Option<MostActive>,
    /// With --active-visitors: how long a visitor may do nothing in the shop, from 1m to 12h [default: 20m]
    #[arg(long, value_name = "DURATION", value_parser = whole_minutes::<SessionMinutes>("12h"))]
    pub(crate) idle: Option<SessionMinutes>,
    /// With --active-visitors: how long a visit lasts at most, from 1m to 12h [default: 2h]
    #[arg(long, value_name = "DURATION", value_parser = whole_minutes::<SessionMinutes>("12h"))]
    pub(crate) session: Option<SessionMinutes>,
    /// How long visitors have to come once it's their turn, from 1m to 14d [default: 1h]
    #[arg(long, value_name = "DURATION", value_parser = whole_minutes::<LifetimeMinutes>("14d"))]
    pub(crate) admission: Option<LifetimeMinutes>,
    #[command(flatten)]
    pub(crate) throttling: Throttling,
    /// URL that the throttle measures, which needs no pass; '' removes it [default: the shop's URL]
    #[arg(long, value_name = "URL")]
    pub(crate) health: Option<Removable<WebUrl>>,
    /// Folder with your colour and logo, or with your own page: docs/page.md; '' for the built-in page
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) page: Option<Removable<PathBuf>>,
}

impl SettingFlags {
    /// Sets what has a flag. Everything else stays.
    pub(crate) fn apply(&self, config: &mut RoomConfig) -> Result<()> {
        let Self {
            title,
            shop,
            rate,
            mode,
            oversubscribe,
            active_visitors,
            idle,
            session,
            admission,
            throttling,
            health,
            page,
        } = self;
        if let Some(title) = title {
            config.title.clone_from(title);
        }
        if let Some(shop) = shop {
            config.shop.clone_from(shop);
        }
        config.rate = rate.unwrap_or(config.rate);
        config.mode = mode.or(config.mode);
        config.oversubscribe_percent = oversubscribe.or(config.oversubscribe_percent);
        config.active_visitors = active_visitors.or(config.active_visitors);
        config.idle_minutes = idle.or(config.idle_minutes);
        config.session_minutes = session.or(config.session_minutes);
        config.admission_minutes = admission.or(config.admission_minutes);
        config.throttle = throttling.wanted().unwrap_or(config.throttle);
        config.health = Removable::or_kept(health.as_ref(), config.health.take());
        config.page = match page {
            None => config.page.take(),
            Some(Removable::Nothing) => None,
            Some(Removable::Value(folder)) => Some(absolute(folder)?),
        };
        *config = config
            .clone()
            .consistent()
            .map_err(|mistakes| Failure::new(Exit::Usage, mistakes.to_string()))?;
        Ok(())
    }
}

/// A time as people type it, which the room's file has in minutes.
fn whole_minutes<T: FromStr<Err = String>>(most: &'static str) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let time = time::between("1m", most)(text)?;
        if time.as_secs() % 60 > 0 {
            return Err("must be whole minutes".into());
        }
        (time.as_secs() / 60).to_string().parse()
    }
}

/// The folder of a page, as an absolute path, because later commands may run in another directory.
fn absolute(folder: &Path) -> Result<PageFolder> {
    let folder = std::path::absolute(folder)?;
    let text = folder
        .to_str()
        .with_context(|| format!("cannot use the folder {}: its name is not UTF-8", folder.display()))?;
    text.parse().map_err(anyhow::Error::msg)
}
