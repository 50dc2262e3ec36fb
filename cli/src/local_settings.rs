//! The settings of a room on this machine, as they are at its start.
//!
//! Each is taken from its flag, or from the room's configuration file, or has a default. Nothing else is remembered, except
//! what an order can change: that the room's data keep ([`LocalSettings::with_orders`]).

use std::path::PathBuf;

use anyhow::Result;
use config::RoomConfig;
use page::Design;
use rooms::data;
use server::DemoDoor;
use waitroom::{Rate, Room, RoomId, Settings, Title, WebUrl};

use crate::arguments::{Local, Removable, TypedOrders};
use crate::exit::{Exit, Failure};

#[derive(Clone, Debug)]
pub(crate) struct LocalSettings {
    /// The room's file as `--save` writes it, or what stands for a file that there is not.
    pub(crate) config: RoomConfig,
    /// The folder of the page; none for the built-in page.
    pub(crate) page: Option<PathBuf>,
    pub(crate) design: Design,
    /// Whether a flag or the file names the shop. Otherwise it is the demonstration's.
    pub(crate) names_shop: bool,
    /// What is wrong in the files of a room that starts all the same.
    pub(crate) warnings: Vec<String>,
}

impl LocalSettings {
    pub(crate) fn new(
        arguments: &Local,
        name: &RoomId,
        file: Option<&RoomConfig>,
        demo_shop: &WebUrl,
        is_new: bool,
    ) -> Result<Self> {
        let (flags, from_file) = (&arguments.settings, &arguments.from_file);
        let demonstration = || {
            anyhow::Ok(RoomConfig::new(name.clone(), default_title(name)?, demo_shop.clone(), Rate::new(60)?))
        };
        let mut config = file.cloned().map_or_else(demonstration, Ok)?;
        flags.apply(&mut config)?;
        let mut warnings = Vec::new();
        if !config.throttle && matches!(flags.health, Some(Removable::Value(_))) {
            let unused = "is what the throttle measures, and this room has no throttle";
            match from_file.place_of("health") {
                None => {
                    let unused = Failure::new(Exit::Usage, format!("--health {unused}"));
                    return Err(unused.advising("add --throttle").into());
                }
                // Whoever turned the throttle off may have left it, and a service has to start.
                Some(place) => warnings.push(format!("warning: {place}: health {unused}")),
            }
        }
        let page = config.page.as_ref().map(|page| PathBuf::from(page.as_str()));
        let is_page_typed = flags.page.is_some() && from_file.place_of("page").is_none();
        let design = match page.as_deref().map_or_else(|| Ok(Design::default()), Design::read) {
            // A service that starts again has visitors in line, and nobody who reads a refusal.
            Err(error) if !is_new && !is_page_typed => {
                let error = anyhow::Error::from(error);
                warnings.push(format!("warning: visitors see the built-in page, because {error:#}"));
                Design::default()
            }
            design => design?,
        };
        let names_shop = file.is_some() || flags.shop.is_some();
        Ok(Self { config, page, design, names_shop, warnings })
    }

    /// The settings of a room that exists: these, except what an order can change. The rate is as it was set last, because
    /// nobody may lower or raise it by restarting the room. `--rate` and `--mode`, if typed, set them like an order.
    pub(crate) fn with_orders(&self, typed: &TypedOrders, kept: &Room) -> Result<Settings, Failure> {
        let shop = &kept.settings.shop;
        if !self.names_shop && !DemoDoor::is_at(shop) {
            let name = &kept.settings.room;
            let without_shop = format!(
                "the room {name} had the shop {shop}, and this command names none: visitors would be sent to a demonstration"
            );
            let advice = format!("add --shop {shop}, or configure the room with: beekeeper init {name}");
            return Err(Failure::new(Exit::Usage, without_shop).advising(advice));
        }
        let settings = self.config.settings().with_orders_of(&kept.settings);
        let (rate, mode) = (typed.rate.unwrap_or(settings.rate), typed.mode.unwrap_or(settings.mode));
        Ok(Settings { rate, mode, ..settings })
    }
}

fn default_title(name: &RoomId) -> Result<Title> {
    let is_demonstration = *name == data::default_name()?;
    Ok(if is_demonstration { "The demonstration room" } else { name.as_str() }.parse()?)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use waitroom::Epoch;

    use super::*;
    use crate::arguments::{Arguments, Command};

    const FILE: &str = "title = \"Seal's Spring Sale\"\nregion = \"eu-central-1\"\nshop = \"https://shop.example/sale\"\n\
        rate = 300\nthrottle = true\nhealth = \"https://shop.example/up\"\nadmission_minutes = 5\n";

    fn local(flags: &[&str]) -> Local {
        let line = [&["beekeeper", "local"], flags].concat();
        let Command::Local(local) = Arguments::try_parse_from(line).unwrap().command else { panic!() };
        *local
    }

    fn typed(given: &[&str]) -> TypedOrders {
        local(given).typed_orders()
    }

    fn file() -> RoomConfig {
        rooms::read_config(&name(), FILE).unwrap()
    }

    fn name() -> RoomId {
        "spring-sale".parse().unwrap()
    }

    fn demo_shop() -> WebUrl {
        "http://localhost:4711/demo-shop".parse().unwrap()
    }

    fn settings(given: &[&str], file: Option<&RoomConfig>) -> Result<LocalSettings> {
        LocalSettings::new(&local(given), &name(), file, &demo_shop(), true)
    }

    #[test]
    fn a_flag_wins_over_the_file_and_the_file_over_the_default() {
        let plain = settings(&[], None).unwrap();
        assert_eq!((plain.config.title.as_str(), plain.config.rate.get()), ("spring-sale", 60));
        assert_eq!((&plain.config.shop, plain.config.throttle, plain.page), (&demo_shop(), false, None));

        let written = settings(&[], Some(&file())).unwrap();
        assert_eq!(written.config, file());
        assert!(written.config.throttle && written.config.health.is_some());
        assert_eq!(written.config.settings().lifetimes.admission.as_secs(), 300);

        let given = ["--title", "Otter", "--shop", "https://otter.example", "--rate", "7", "--no-throttle"];
        let given =
            settings(&[&given[..], &["--health", "", "--admission", "15m"]].concat(), Some(&file())).unwrap();
        assert_eq!((given.config.title.as_str(), given.config.rate.get()), ("Otter", 7));
        assert_eq!(given.config.shop.to_string(), "https://otter.example/");
        assert_eq!((&given.config.health, given.config.throttle), (&None, false));
        assert_eq!(given.config.settings().lifetimes.admission.as_secs(), 900);
    }

    #[test]
    fn a_health_url_needs_a_throttle() {
        let health = ["--health", "https://shop.example/health"];
        assert!(settings(&health, Some(&file())).is_ok(), "the file has a throttle");
        assert!(settings(&[&health[..], &["--throttle"]].concat(), None).is_ok());
        for file in [None, Some(file())] {
            let refused = settings(&[&health[..], &["--no-throttle"]].concat(), file.as_ref()).unwrap_err();
            assert!(refused.to_string().contains("this room has no throttle"), "{refused}");
        }
    }

    #[test]
    fn an_existing_room_keeps_what_orders_changed() {
        let kept = || {
            let mut settings = file().settings();
            settings.title = "Before".parse().unwrap();
            settings.rate = Rate::new(600).unwrap();
            settings.message = "More beer".parse().unwrap();
            let epoch: Epoch = "ab12".parse().unwrap();
            Room::new(settings, "http://localhost:8080".parse().unwrap(), epoch)
        };
        let after = |given: &[&str], kept: &Room| {
            settings(given, Some(&file())).unwrap().with_orders(&typed(given), kept).unwrap()
        };
        let restarted = after(&[], &kept());
        assert_eq!((restarted.rate.get(), restarted.message.as_str()), (600, "More beer"));
        assert_eq!(restarted.title.as_str(), "Seal's Spring Sale");
        assert_eq!(after(&["--rate", "5"], &kept()).rate.get(), 5);

        let unnamed = settings(&[], None).unwrap();
        let refused = unnamed.with_orders(&typed(&[]), &kept()).unwrap_err();
        assert!(refused.to_string().contains("had the shop https://shop.example/sale"), "{refused}");
        let mut demonstration = kept();
        demonstration.settings.shop = "http://localhost:1234/demo-shop".parse().unwrap();
        assert_eq!(unnamed.with_orders(&typed(&[]), &demonstration).unwrap().shop, demo_shop());
    }

    #[test]
    fn save_changes_only_what_has_a_flag() {
        assert_eq!(settings(&["--port", "0"], Some(&file())).unwrap().config, file());
        let given = ["--title", "Otter", "--rate", "7", "--no-throttle", "--health", "", "--page", ""];
        let saved = settings(&given, Some(&file())).unwrap().config;
        let mut expected = file();
        (expected.title, expected.rate) = ("Otter".parse().unwrap(), Rate::new(7).unwrap());
        (expected.throttle, expected.health) = (false, None);
        assert_eq!(saved, expected);
    }
}
