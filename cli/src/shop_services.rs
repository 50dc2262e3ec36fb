//! The room and the guard that run as services on this machine, as their files of flags describe them.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;
use clap::{CommandFactory, Parser};
use guard::{Bypass, BypassPath};
use http::Method;
use setup::ShopServices;
use url::Position;
use waitroom::WebUrl;

use crate::arguments::{Arguments, Command, GuardArguments, Local, Removable};
use crate::exit::{Exit, Failure};
use crate::flags_file;

pub(crate) fn shop_services(room_file: &Path, guard_file: &Path) -> Result<ShopServices> {
    let unset = |file: &Path, key: &str| {
        Failure::new(Exit::Failed, format!("{} has no {key}", file.display()))
            .advising(format!("write it there, as docs/hosting/room.toml does: sudoedit {}", file.display()))
    };
    let (Command::Local(room), Command::Guard(guard)) =
        (flags("local", room_file)?, flags("guard", guard_file)?)
    else {
        unreachable!("these words are those commands");
    };
    let name = room.name.clone().ok_or_else(|| unset(room_file, "name"))?;
    let shop = room.settings.shop.as_ref().ok_or_else(|| unset(room_file, "shop"))?;
    let url = room.url.as_ref().ok_or_else(|| unset(room_file, "url"))?;
    let host = |url: &WebUrl| url.as_url().host_str().unwrap_or_default().to_ascii_lowercase();
    let without_slash = |url: &WebUrl| url.to_string().trim_end_matches('/').to_owned();
    if guard.name != name || without_slash(&guard.room) != without_slash(url) {
        let problem = format!(
            "{} is for the room {} at {}, and {} for {name} at {}",
            guard_file.display(),
            guard.name,
            without_slash(&guard.room),
            room_file.display(),
            without_slash(url)
        );
        return Err(Failure::new(Exit::Failed, problem)
            .advising("write the same name and URL into both, and start the services again")
            .into());
    }
    let (shop_host, room_host) = (host(shop), host(url));
    if shop_host == room_host || url.as_url().path() != "/" {
        let problem =
            format!("{} is not a name of the room's own, and the shop is {shop}", without_slash(url));
        let advice = format!("give the room its own name, such as https://wait.{shop_host}, in both files");
        return Err(Failure::new(Exit::Failed, problem).advising(advice).into());
    }
    Ok(ShopServices {
        room: name.clone(),
        shop_host,
        room_host,
        url: without_slash(url),
        ports: [shop, url].map(|url| url.as_url().port()),
        room_listens: room.address(),
        guard_listens: guard.listen,
        guard_monitor: guard.metrics,
        as_typed: room.as_typed(&name),
        warnings: warnings(&room, room_file, &guard, guard_file, shop),
    })
}

/// What would go wrong behind the shop's nginx.
fn warnings(
    room: &Local,
    room_file: &Path,
    guard: &GuardArguments,
    guard_file: &Path,
    shop: &WebUrl,
) -> Vec<String> {
    let mut warnings = Vec::new();
    if room.trust_proxy.is_empty() {
        warnings.push(format!(
            "{} has no trust_proxy, so all visitors seem to come from one address: trust_proxy = [\"127.0.0.1\"]",
            room_file.display()
        ));
    }
    if let Some(Removable::Value(health)) = &room.settings.health
        && health.as_url().host_str() == shop.as_url().host_str()
        && let Some(mend) = not_measured(guard, health)
    {
        warnings.push(format!("{} does not let the room measure {health}: {mend}", guard_file.display()));
    }
    warnings
}

/// What lets the room measure this page of the shop, if the guard doesn't.
fn not_measured(guard: &GuardArguments, health: &WebUrl) -> Option<String> {
    let target = &health.as_url()[Position::BeforePath..Position::AfterQuery];
    let covers = |paths: &[BypassPath]| {
        Bypass { paths: paths.into(), ..Bypass::default() }.covers_target(&Method::GET, target)
    };
    if covers(&guard.bypass_path) {
        return None;
    }
    let mut named =
        [health.as_url().path(), target].into_iter().filter_map(|path| path.parse::<BypassPath>().ok());
    Some(named.find(|path| covers(std::slice::from_ref(path))).map_or_else(
        || "write another health URL into the configuration file, below /".to_owned(),
        |path| format!("bypass_path = [\"{path}\"]"),
    ))
}

/// What a service is started with.
fn flags(command: &str, file: &Path) -> Result<Command> {
    let words = [OsString::from("beekeeper"), command.into(), "--config".into(), file.into()];
    let (words, _) = flags_file::expanded(&Arguments::command(), words.into()).map_err(|failure| {
        if file.exists() {
            return failure;
        }
        let flag = if command == "local" { "--room-file" } else { "--guard-file" };
        failure.advising(format!("docs/hosting.md says how to put it there; or name another with {flag}"))
    })?;
    let parsed = Arguments::try_parse_from(words).map_err(|error| {
        Failure::new(Exit::Usage, format!("{}: {}", file.display(), flags_file::first_line(&error)))
    })?;
    Ok(parsed.command)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The shipped files with these changes.
    fn read(room: [&str; 2], guard: [&str; 2]) -> Result<ShopServices> {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str, [shipped, here]: [&str; 2]| {
            assert!(text.contains(shipped), "{shipped}");
            fs::write(folder.path().join(name), text.replace(shipped, here)).unwrap();
            folder.path().join(name)
        };
        let room = file("room.toml", include_str!("../../docs/hosting/room.toml"), room);
        let guard = file("guard.toml", include_str!("../../docs/hosting/guard.toml"), guard);
        shop_services(&room, &guard)
    }

    const AS_SHIPPED: [&str; 2] = ["", ""];

    #[test]
    fn the_shipped_files_fit_together() {
        let services = read(AS_SHIPPED, AS_SHIPPED).unwrap();
        assert_eq!((&*services.shop_host, &*services.room_host), ("shop.example", "wait.example"));
        assert_eq!(services.url, "https://wait.example");
        assert_eq!(services.room_listens.to_string(), "127.0.0.1:8080");
        assert_eq!(services.guard_listens.to_string(), "127.0.0.1:8090");
        assert_eq!(services.warnings, [""; 0]);
        let measured = ["# throttle = true\n# health", "throttle = true\nhealth"];
        let warnings = read(measured, AS_SHIPPED).unwrap().warnings;
        let [warning] = &*warnings else { panic!("{warnings:?}") };
        assert!(warning.ends_with(
            "does not let the room measure https://shop.example/health: bypass_path = [\"/health\"]"
        ));
        let bypassed = ["# bypass_path = [\"/paid.php\"]", "bypass_path = [\"/health\"]"];
        assert_eq!(read(measured, bypassed).unwrap().warnings, [""; 0]);
        let shop = [
            "# throttle = true\n# health = \"https://shop.example/health",
            "throttle = true\nhealth = \"https://shop.example/",
        ];
        let warnings = read(shop, AS_SHIPPED).unwrap().warnings;
        let [warning] = &*warnings else { panic!("{warnings:?}") };
        assert!(warning.ends_with(
            "measure https://shop.example/: write another health URL into the configuration file, below /"
        ));
        let longer = [
            "# throttle = true\n# health = \"https://shop.example/health",
            "throttle = true\nhealth = \"https://shop.example/healthz",
        ];
        let warnings = read(longer, bypassed).unwrap().warnings;
        let [warning] = &*warnings else { panic!("{warnings:?}") };
        assert!(
            warning.ends_with("measure https://shop.example/healthz: bypass_path = [\"/healthz\"]"),
            "{warning}"
        );
    }

    #[test]
    fn a_file_that_is_missing_is_put_there_or_named() {
        let nowhere = Path::new("/nowhere/room.toml");
        let missing = shop_services(nowhere, nowhere).unwrap_err();
        let advice = crate::ending::advice(&missing).unwrap();
        assert_eq!(advice, "docs/hosting.md says how to put it there; or name another with --room-file");
    }

    #[test]
    fn what_would_go_wrong_behind_nginx_is_told() {
        let warned = |room, guard| read(room, guard).unwrap().warnings.join("\n");
        assert!(
            warned(["trust_proxy", "# trust_proxy"], AS_SHIPPED).contains("room.toml has no trust_proxy")
        );
        for (room, guard, problem) in [
            (
                ["name = \"spring-sale\"", "name = \"summer\""],
                AS_SHIPPED,
                "guard.toml is for the room spring-sale at https://wait.example",
            ),
            (AS_SHIPPED, ["https://wait.example", "https://other.example"], "at https://other.example, and"),
            (["url = ", "# url = "], AS_SHIPPED, "room.toml has no url"),
            (
                ["shop = \"https://shop.example/sale\"", "shop = \"https://wait.example/sale\""],
                AS_SHIPPED,
                "is not a name of the room's own",
            ),
            (
                ["trust_proxy = [\"127.0.0.1\"]\n# join_limit", "join_limit"],
                AS_SHIPPED,
                "room.toml: trust_proxy is missing, and the rest needs it",
            ),
            (["shop = ", "shpo = "], AS_SHIPPED, "shpo: local has no such flag; did you mean shop?"),
        ] {
            let refusal = read(room, guard).unwrap_err().to_string();
            assert!(refusal.contains(problem), "{refusal}");
        }
    }
}
