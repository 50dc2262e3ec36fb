//! `beekeeper init`: asks for the room's configuration, or takes it from flags; checks it, and writes the file.

use std::fmt::Display;
use std::str::FromStr;

use anyhow::Result;
use config::{Region, RoomConfig};
use doctor::{Journey, needs_health, needs_host};
use inquire::Confirm;
use probe::HttpProbe;
use rooms::{ConfigFolder, is_the_room, refuse_another_region, unchanged_room};
use waitroom::{RoomId, WebUrl};

use super::config::described;
use crate::arguments::{Init, KNOWS_AWS, Removable, SettingFlags, Throttling};
use crate::ask::{self, TextQuestion, answer};
use crate::exit::{Exit, Failure};
use crate::printer::{note, say};
use crate::runtime::block_on;

/// What comes next: a `beekeeper` that was built without AWS cannot deploy.
const NEXT: &str =
    if KNOWS_AWS { "deploy it with: beekeeper deploy" } else { "start it with: beekeeper local" };

pub(crate) fn run(init: &Init, json: bool, yes: bool) -> Result<()> {
    let folder = ConfigFolder::of_this_user()?;
    let asks = ask::can_ask();
    let name = match &init.name {
        Some(name) => name.clone(),
        None if asks => ask_name(&folder)?,
        None => return Err(incomplete(&["NAME"])),
    };
    let before = folder.find(&name)?;
    let before = before.as_ref();
    // For a configured room, a flag changes only its own answer, so no questions are asked.
    let edits_by_flags = before.is_some() && init.answers_something();
    let (after, journey) = if asks && !edits_by_flags {
        if before.is_some() {
            note(&format!("{name} is already configured. Press Enter to keep an answer."));
        }
        let (answered, journey) = ask_the_rest(init, before, yes)?;
        (configured(name.clone(), &answered, before)?, journey)
    } else {
        (configured(name.clone(), init, before)?, None)
    };
    refuse_another_region(before, &after).map_err(|refusal| Failure::of(Exit::Failed, refusal))?;
    let is_new_shop = before.is_none_or(|before| before.shop != after.shop);
    let journey = match journey {
        None if is_new_shop => Some(check_shop(&after.shop, yes, asks)?),
        asked => asked,
    };
    for warning in warnings(before, &after, journey.as_ref()) {
        note(&format!("warning: {warning}"));
    }
    refuse_edited(&folder, &name, before)?;
    let path = folder.save(&after, KNOWS_AWS)?;
    let of_room = before.map(|before| rooms::changes(before, &after)).filter(|changes| !changes.is_empty());
    if let (Some(_), Some(unchanged)) = (of_room, unchanged_room(&after)?) {
        note(&unchanged);
    }
    if json {
        let mut described = described(&folder, &after);
        described["created"] = before.is_none().into();
        return Ok(say(&described.to_string())?);
    }
    let Some(before) = before else {
        return Ok(say(&format!("{name} is configured in {}\n{NEXT} {name}", path.display()))?);
    };
    let changes = rooms::changes(before, &after);
    if changes.is_empty() {
        return Ok(say(&format!("nothing changed: {} says all of this already", path.display()))?);
    }
    changes.iter().try_for_each(|change| Ok(say(change)?))
}

/// An error if somebody changed the file during the questions, such as `deploy` in another terminal.
fn refuse_edited(folder: &ConfigFolder, name: &RoomId, before: Option<&RoomConfig>) -> Result<()> {
    if folder.find(name)?.as_ref() == before {
        return Ok(());
    }
    let told =
        format!("{} was changed while this command asked, so it wrote nothing", folder.path(name).display());
    Err(Failure::new(Exit::Failed, told).advising(format!("run it again: beekeeper init {name}")).into())
}

/// Requests the shop's page, and asks whether to keep a URL that shows none.
fn check_shop(shop: &WebUrl, yes: bool, asks: bool) -> Result<Journey> {
    let journey = visit(shop)?;
    note(&journey.to_string());
    if journey.begins_at_a_door() {
        return Err(Failure::of(Exit::Usage, is_the_room(shop)).into());
    }
    if !journey.arrives() && !yes {
        if !asks {
            let advice = "nothing was written; to keep the URL anyway, add --yes";
            let silent = format!("visitors would see no page at {shop}");
            return Err(Failure::new(Exit::Declined, silent).advising(advice).into());
        }
        if !keeps_silent_shop()? {
            return Err(ask::declined().into());
        }
    }
    Ok(journey)
}

/// What is probably a mistake, although the file is valid.
fn warnings(before: Option<&RoomConfig>, after: &RoomConfig, journey: Option<&Journey>) -> Vec<String> {
    let mut warnings: Vec<_> = after.region.iter().filter_map(Region::warning).collect();
    let is_new =
        |url: &WebUrl| before.is_none_or(|before| before.shop != *url && before.health.as_ref() != Some(url));
    let urls = [Some(&after.shop), after.health.as_ref()].into_iter().flatten();
    // Without AWS, a room runs here, and may have its shop here too.
    warnings.extend(
        urls.filter(|url| KNOWS_AWS && is_new(url) && url.is_on_this_machine())
            .map(|url| format!("{url} is on this machine; a room on AWS and its visitors cannot reach it")),
    );
    warnings.extend(journey.and_then(Journey::leads_on_to).map(needs_host));
    if after.throttle && after.health.is_none() && journey.is_some_and(Journey::is_protected) {
        warnings.push(needs_health(&after.shop));
    }
    warnings
}

/// The flags, with answers to the questions that none of them answers. The answers in the room's file are the defaults. Also returns
/// what was seen of the shop, if it is another one than before.
fn ask_the_rest(init: &Init, before: Option<&RoomConfig>, yes: bool) -> Result<(Init, Option<Journey>)> {
    let mut answered = init.clone();
    let settings = &mut answered.settings;
    if settings.title.is_none() {
        let default = before.map(|before| before.title.clone());
        settings.title = Some(asked("Title that visitors see:", "like Seal's Spring Sale", default)?);
    }
    if KNOWS_AWS && answered.region.is_none() {
        answered.region = Some(ask_region(before.and_then(|before| before.region.clone()))?);
    }
    let (shop, journey) = ask_shop(settings.shop.take(), before, yes)?;
    settings.shop = Some(shop);
    if settings.rate.is_none() {
        let help = if KNOWS_AWS {
            "from 1 to 270000; an AWS account may bear less: docs/crowd.md"
        } else {
            "from 1 to 270000"
        };
        let default = before.map(|before| before.rate);
        settings.rate = Some(asked("How many visitors may enter a minute?", help, default)?);
    }
    if settings.throttling.wanted().is_none() {
        let throttle = answer(
            Confirm::new("Lower the rate while the shop is slow or fails?")
                .with_default(before.is_some_and(|before| before.throttle))
                .with_help_message("it measures the shop once a minute, with 20 requests")
                .prompt(),
        )?;
        settings.throttling = Throttling::of(throttle);
    }
    Ok((answered, journey))
}

/// The configuration: what the flags say, then what is in the file already. A new room needs an answer to every question.
fn configured(room: RoomId, init: &Init, before: Option<&RoomConfig>) -> Result<RoomConfig> {
    let SettingFlags { title, shop, rate, throttling, .. } = &init.settings;
    let region = init.region.as_ref().or(before.and_then(|before| before.region.as_ref()));
    let is_new = before.is_none();
    let missing: Vec<_> = [
        (is_new && title.is_none(), "--title"),
        (KNOWS_AWS && region.is_none(), "--region"),
        (is_new && shop.is_none(), "--shop"),
        (is_new && rate.is_none(), "--rate"),
        (is_new && throttling.wanted().is_none(), "--throttle or --no-throttle"),
    ]
    .into_iter()
    .filter_map(|(is_missing, flag)| is_missing.then_some(flag))
    .collect();
    let mut config = match (before, title, shop, rate) {
        (Some(before), ..) if missing.is_empty() => before.clone(),
        (None, Some(title), Some(shop), Some(rate)) if missing.is_empty() => {
            RoomConfig::new(room, title.clone(), shop.clone(), *rate)
        }
        _ => return Err(incomplete(&missing)),
    };
    config.region = region.cloned();
    config.edge = init.edge.or(config.edge);
    init.settings.apply(&mut config)?;
    if init.settings.page.is_some() {
        rooms::custom_page(&config)?;
    }
    config.aws_profile = Removable::or_kept(init.aws_profile.as_ref(), config.aws_profile);
    Ok(config)
}

fn incomplete(missing: &[&str]) -> anyhow::Error {
    let needs = format!("missing for a new room: {}", missing.join(", "));
    Failure::new(Exit::Usage, needs)
        .advising("add the flags, or run the command in a terminal to be asked")
        .into()
}

/// Says what is wrong with an answer that cannot be parsed.
fn read_by<T, E: Display>(text: &str, read: fn(&str) -> Result<T, E>) -> Result<(), String> {
    read(text).map(drop).map_err(|reason| reason.to_string())
}

/// Asks until the answer can be parsed. The default can be edited.
fn asked<T>(question: &str, help: &str, default: Option<T>) -> Result<T>
where
    T: FromStr<Err: Display + std::error::Error + Send + Sync + 'static> + Display,
{
    let initial = default.map(|default| default.to_string()).unwrap_or_default();
    let check = |text: &str| read_by(text, T::from_str);
    Ok(TextQuestion { question, help, initial, check: &check, suggest: &|_| Vec::new() }.ask()?.parse()?)
}

fn ask_name(folder: &ConfigFolder) -> Result<RoomId> {
    let help = match folder.listed()? {
        Some(names) => format!("used in commands and in the cookie's name; your rooms: {names}"),
        None => "used in commands and in the cookie's name, like spring-sale".into(),
    };
    asked("Short name of the room:", &help, None)
}

fn ask_region(default: Option<Region>) -> Result<Region> {
    let usual = ["AWS_REGION", "AWS_DEFAULT_REGION"].into_iter().find_map(|name| std::env::var(name).ok());
    let default = default.or_else(|| usual?.parse().ok());
    let question = TextQuestion {
        question: "AWS region:",
        help: "type a place or a code; choose one near your visitors",
        initial: default.map(|region| region.to_string()).unwrap_or_default(),
        check: &|text| read_by(text, Region::named),
        suggest: &Region::like,
    };
    Ok(Region::named(&question.ask()?)?)
}

/// Asks for the shop unless it was given, and requests its page.
fn ask_shop(
    mut given: Option<WebUrl>,
    before: Option<&RoomConfig>,
    yes: bool,
) -> Result<(WebUrl, Option<Journey>)> {
    let mut default = before.map(|before| before.shop.clone());
    loop {
        let shop = match given.take() {
            Some(shop) => shop,
            None => asked(
                "URL of the shop:",
                "where admitted visitors are sent, like https://shop.example/sale",
                default.take(),
            )?,
        };
        if before.is_some_and(|before| before.shop == shop) {
            return Ok((shop, None));
        }
        let journey = visit(&shop)?;
        note(&journey.to_string());
        if journey.begins_at_a_door() {
            note(&format!("{}.", is_the_room(&shop)));
        } else if journey.arrives() || yes || keeps_silent_shop()? {
            return Ok((shop, Some(journey)));
        }
        default = Some(shop);
    }
}

fn keeps_silent_shop() -> Result<bool> {
    answer(Confirm::new("Visitors would see no page there. Keep this URL?").with_default(false).prompt())
}

fn visit(shop: &WebUrl) -> Result<Journey> {
    let probe = HttpProbe::new()?;
    // The room has no URL before it is deployed. A door is recognised by where it leads.
    block_on(async { Ok(Journey::to(shop.as_url(), &probe, |_| false).await) })
}

#[cfg(test)]
mod tests {
    use waitroom::{Rate, Title};

    use super::*;

    #[test]
    fn an_invalid_answer_is_refused_with_the_reason() {
        assert_eq!(read_by("600", Rate::from_str), Ok(()));
        for (refusal, reason) in [
            (read_by("My Room", RoomId::from_str), "a room's name is 1 to 30 lower-case letters"),
            (read_by("", Title::from_str), "a title is 1 to 100 characters on one line"),
            (
                read_by("Atlantis", Region::named),
                "must be a code like eu-central-1, or a place like Frankfurt",
            ),
            (
                read_by("shop.example", WebUrl::from_str),
                "write it in full, such as https://shop.example/sale",
            ),
            (read_by("many", Rate::from_str), "a whole number of visitors a minute, from 1 to 270000"),
        ] {
            let refusal = refusal.unwrap_err();
            assert!(refusal.contains(reason), "{refusal}");
        }
    }
}
