//! `beekeeper init`: what the operator wants, asked for or taken from flags, checked, and written down.

use std::fmt::Display;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result};
use inquire::autocompletion::{Autocomplete, Replacement};
use inquire::validator::{ErrorMessage, Validation};
use inquire::{Confirm, CustomUserError, Text};
use page::Design;
use probe::HttpProbe;
use waitroom::{Rate, RoomId, Title, WebUrl};

use super::change::told;
use super::config::described;
use crate::arguments::Init;
use crate::ask::{self, answer};
use crate::exit::{Exit, Failure};
use crate::printer::{note, say};
use crate::profile::{More, Profile, Profiles};
use crate::reach::Journey;
use crate::region::{KNOWN, Region, RegionError};
use crate::runtime::block_on;

pub(crate) fn run(init: &Init, json: bool) -> Result<()> {
    let profiles = Profiles::of_this_user()?;
    let asks = ask::can_ask();
    let name = match &init.name {
        Some(name) => name.clone(),
        None if asks => ask_name(&profiles)?,
        None => return Err(incomplete(&["NAME"])),
    };
    let before = profiles.find(&name)?;
    let wanted = InitAnswers::new(init, before.as_ref())?;
    let stays =
        before.as_ref().filter(|before| before.more.account.is_some()).map(|before| before.region.clone());
    // Who says what is to change is not asked about the rest.
    let edits_by_flags = before.is_some() && init.answers_something();
    let (after, is_checked) = if asks && !edits_by_flags {
        if before.is_some() {
            note(&format!("{name} is written down already; what is there is the default."));
        }
        (wanted.ask(init, before.as_ref())?, true)
    } else {
        (wanted.complete()?, false)
    };
    if let Some(stays) = stays.filter(|stays| *stays != after.region) {
        let reason = format!("{name} is, or was, deployed in {stays}, and would go on there unseen");
        let advice = format!(
            "remove it there with: beekeeper destroy {name}; then take the line `account` out of {}",
            profiles.path(&name).display()
        );
        return Err(Failure::new(Exit::Failed, reason).advising(advice).into());
    }
    if let Some(warning) = after.region.warning() {
        note(&format!("warning: {warning}"));
    }
    let is_new_shop = before.as_ref().is_none_or(|before| before.shop != after.shop);
    if is_new_shop && !is_checked {
        let journey = visit(&after.shop)?;
        note(&journey.to_string());
        if !journey.arrives() && !init.yes {
            if !asks {
                let advice = "nothing was written; say --yes to keep the URL all the same";
                let silent = format!("nobody would see anything at {}", after.shop);
                return Err(Failure::new(Exit::Declined, silent).advising(advice).into());
            }
            keep_all_the_same()?;
        }
    }
    let path = profiles.save(&name, &after)?;
    if json {
        let mut said = described(&profiles, &name, &after)?;
        said["created"] = before.is_none().into();
        return Ok(say(&said.to_string())?);
    }
    let Some(before) = before else {
        return Ok(say(&format!(
            "{name} is written down in {}\nbring it to AWS with: beekeeper deploy {name}",
            path.display()
        ))?);
    };
    told(changes(&before, &after).into_iter())
}

/// What the flags say, or else what was written down before.
struct InitAnswers {
    title: Option<Title>,
    region: Option<Region>,
    shop: Option<WebUrl>,
    rate: Option<Rate>,
    throttle: Option<bool>,
    more: More,
}

impl InitAnswers {
    fn new(init: &Init, before: Option<&Profile>) -> Result<Self> {
        let mut more = before.map(|before| before.more.clone()).unwrap_or_default();
        more.health = init.health.clone().or(more.health);
        more.page = init.page.as_deref().map(checked).transpose()?.or(more.page);
        more.aws_profile = init.aws_profile.clone().or(more.aws_profile);
        Ok(Self {
            title: init.title.clone().or_else(|| Some(before?.title.clone())),
            region: init.region.clone().or_else(|| Some(before?.region.clone())),
            shop: init.shop.clone().or_else(|| Some(before?.shop.clone())),
            rate: init.rate.or_else(|| Some(before?.rate)),
            throttle: init.throttles().or_else(|| Some(before?.throttle)),
            more,
        })
    }

    /// Without questions: everything has to be there.
    fn complete(self) -> Result<Profile> {
        let Self { title, region, shop, rate, throttle, more } = self;
        let missing: Vec<_> = [
            (title.is_none(), "--title"),
            (region.is_none(), "--region"),
            (shop.is_none(), "--shop"),
            (rate.is_none(), "--rate"),
            (throttle.is_none(), "--throttle or --no-throttle"),
        ]
        .into_iter()
        .filter_map(|(is_missing, flag)| is_missing.then_some(flag))
        .collect();
        let (Some(title), Some(region), Some(shop), Some(rate), Some(throttle)) =
            (title, region, shop, rate, throttle)
        else {
            return Err(incomplete(&missing));
        };
        Ok(Profile { title, region, shop, rate, throttle, more })
    }

    /// Asks what no flag has answered. What was written down before is the default.
    fn ask(self, init: &Init, before: Option<&Profile>) -> Result<Profile> {
        let title = match &init.title {
            Some(title) => title.clone(),
            None => asked("Name that visitors read:", "like Seal's Spring Sale", self.title)?,
        };
        let region = match &init.region {
            Some(region) => region.clone(),
            None => ask_region(self.region)?,
        };
        let shop = ask_shop(init, before, self.shop)?;
        let rate = match init.rate {
            Some(rate) => rate,
            None => asked("How many may enter a minute?", "from 1 to 270000", self.rate)?,
        };
        let throttle = match init.throttles() {
            Some(throttle) => throttle,
            None => answer(
                Confirm::new("Let fewer enter while the shop is slow or fails?")
                    .with_default(self.throttle.unwrap_or(false))
                    .with_help_message("it is measured once a minute, with 20 requests")
                    .prompt(),
            )?,
        };
        Ok(Profile { title, region, shop, rate, throttle, more: self.more })
    }
}

/// The folder of a page, as the file has it: it is to be found wherever a later command is typed.
fn checked(folder: &Path) -> Result<String> {
    let folder = std::path::absolute(folder)?;
    Design::read(&folder)?;
    let text = folder
        .to_str()
        .with_context(|| format!("{} is not a name that a file can hold", folder.display()))?;
    Ok(text.to_owned())
}

fn incomplete(missing: &[&str]) -> anyhow::Error {
    let needs = format!("a new room also needs {}", missing.join(", "));
    Failure::new(Exit::Usage, needs).advising("run it in a terminal, and it asks").into()
}

/// Refuses what cannot be read, with the reason.
fn read_by<T, E: Display>(text: &str, read: fn(&str) -> Result<T, E>) -> Validation {
    match read(text) {
        Ok(_) => Validation::Valid,
        Err(reason) => Validation::Invalid(ErrorMessage::Custom(reason.to_string())),
    }
}

/// Asks until the answer can be read. The default lies there to be edited.
fn asked<T>(question: &str, help: &str, default: Option<T>) -> Result<T>
where
    T: FromStr<Err: Display + std::error::Error + Send + Sync + 'static> + Display,
{
    let default = default.map(|default| default.to_string());
    let mut text = Text::new(question)
        .with_help_message(help)
        .with_validator(|text: &str| Ok(read_by(text, T::from_str)));
    if let Some(default) = &default {
        text = text.with_initial_value(default);
    }
    Ok(answer(text.prompt())?.parse()?)
}

fn ask_name(profiles: &Profiles) -> Result<RoomId> {
    let help = match profiles.listed()? {
        Some(names) => format!("part of every command and of the cookie; there are: {names}"),
        None => "part of every command and of the cookie, like spring-sale".into(),
    };
    asked("Short name of the room:", &help, None)
}

fn ask_region(default: Option<Region>) -> Result<Region> {
    let usual = ["AWS_REGION", "AWS_DEFAULT_REGION"].into_iter().find_map(|name| std::env::var(name).ok());
    let default = default.or_else(|| usual?.parse().ok()).map(|region| region.to_string());
    let mut text = Text::new("AWS region:")
        .with_help_message("a place or a code; near your visitors is good")
        .with_autocomplete(Regions)
        .with_validator(|text: &str| Ok(read_by(text, meant)));
    if let Some(default) = &default {
        text = text.with_initial_value(default);
    }
    Ok(meant(&answer(text.prompt())?)?)
}

/// The list of regions, searched while somebody types.
#[derive(Clone, Copy)]
struct Regions;

impl Autocomplete for Regions {
    fn get_suggestions(&mut self, typed: &str) -> Result<Vec<String>, CustomUserError> {
        Ok(regions_like(typed))
    }

    fn get_completion(
        &mut self,
        typed: &str,
        highlighted: Option<String>,
    ) -> Result<Replacement, CustomUserError> {
        Ok(highlighted.or_else(|| regions_like(typed).into_iter().next()))
    }
}

/// The regions whose code or place has what was typed.
fn regions_like(typed: &str) -> Vec<String> {
    let typed = typed.trim().to_lowercase();
    let lines = KNOWN.iter().map(|(code, place)| format!("{code}  {place}"));
    lines.filter(|line| line.to_lowercase().contains(&typed)).collect()
}

/// A region, or enough of one that it can be no other.
fn meant(typed: &str) -> Result<Region, RegionError> {
    typed.parse().or_else(|error| match &regions_like(typed)[..] {
        [only] => only.parse(),
        _ => Err(error),
    })
}

/// Asks for the shop, and goes there.
fn ask_shop(init: &Init, before: Option<&Profile>, default: Option<WebUrl>) -> Result<WebUrl> {
    let mut default = default;
    let mut given = init.shop.clone();
    loop {
        let shop = match given.take() {
            Some(shop) => shop,
            None => asked(
                "Where do the admitted go?",
                "the URL that the room protects, like https://shop.example/sale",
                default.take(),
            )?,
        };
        if before.is_some_and(|before| before.shop == shop) {
            return Ok(shop);
        }
        let journey = visit(&shop)?;
        note(&journey.to_string());
        if journey.arrives() || init.yes {
            return Ok(shop);
        }
        let keep = Confirm::new("Visitors would see nothing there now. Keep it?").with_default(false);
        if answer(keep.prompt())? {
            return Ok(shop);
        }
        default = Some(shop);
    }
}

fn keep_all_the_same() -> Result<()> {
    let keep = Confirm::new("Visitors would see nothing there now. Keep it?").with_default(false);
    if answer(keep.prompt())? { Ok(()) } else { Err(ask::declined().into()) }
}

fn visit(shop: &WebUrl) -> Result<Journey> {
    let probe = HttpProbe::new()?;
    block_on(async { Ok(Journey::to(shop.as_url(), &probe).await) })
}

fn changes(before: &Profile, after: &Profile) -> Vec<String> {
    let shown = |value: Option<toml_edit::Value>| {
        value.map_or_else(|| "not set".into(), |value| value.to_string().trim().to_owned())
    };
    let pairs = before.entries().into_iter().zip(after.entries());
    let pairs = pairs.map(|((entry, before), (_, after))| (entry, shown(before), shown(after)));
    pairs
        .filter(|(_, before, after)| before != after)
        .map(|(entry, before, after)| format!("{entry}: {before} -> {after}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_found_by_its_place_or_its_code() {
        assert_eq!(regions_like("frank"), ["eu-central-1  Frankfurt"]);
        assert_eq!(regions_like("ca-"), ["ca-central-1  Canada, Central", "ca-west-1  Calgary"]);
        assert_eq!(regions_like("").len(), KNOWN.len());
        assert_eq!(meant("Frank").unwrap().as_str(), "eu-central-1");
        assert_eq!(meant("eu-east-9").unwrap().as_str(), "eu-east-9");
        assert_eq!(meant("ca-"), Err(RegionError));
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_the_reason() {
        let refusal = |validation| match validation {
            Validation::Valid => String::new(),
            Validation::Invalid(ErrorMessage::Custom(reason)) => reason,
            Validation::Invalid(ErrorMessage::Default) => "no reason".into(),
        };
        assert_eq!(refusal(read_by("600", Rate::from_str)), "");
        for (validation, reason) in [
            (read_by("My Room", RoomId::from_str), "a room's name is 1 to 30 lower-case letters"),
            (read_by("", Title::from_str), "a title is 1 to 100 characters on one line"),
            (read_by("eu-", meant), "a region is written like eu-central-1"),
            (
                read_by("shop.example", WebUrl::from_str),
                "write it in full, such as https://shop.example/sale",
            ),
            (read_by("many", Rate::from_str), "a whole number of visitors a minute, from 1 to 270000"),
        ] {
            let refusal = refusal(validation);
            assert!(refusal.contains(reason), "{refusal}");
        }
    }
}
