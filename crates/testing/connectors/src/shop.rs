use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use emulators::{ScriptServer, Venv, browser, php, workspace};
use tempfile::TempDir;

/// A shop with a connector in front of it. It answers whoever enters with their subject and number, as JSON.
#[derive(Debug)]
pub struct Shop {
    pub language: &'static str,
    server: ScriptServer,
    /// Packages from npm are only found below the folder where they are installed.
    _copies: Option<TempDir>,
}

/// What a shop knows of the room.
#[derive(Clone, Copy, Debug)]
pub struct ShopsRoom<'a> {
    pub url: &'a str,
    pub name: &'a str,
    pub secret: &'a str,
    /// The room's keys, or nothing: then the shop fetches them.
    pub keys: &'a str,
}

impl ShopsRoom<'_> {
    fn configure(&self, command: &mut Command, port: u16) {
        command.env("PORT", port.to_string()).env("ROOM", self.url).env("NAME", self.name);
        command.env("SECRET", self.secret).env("KEYS", self.keys).env("NO_PROXY", "127.0.0.1");
    }
}

impl Shop {
    pub const LANGUAGES: [&str; 4] = ["express", "wsgi", "asgi", "php"];

    /// A shop in one of [`Shop::LANGUAGES`].
    pub fn start(language: &'static str, room: ShopsRoom<'_>) -> Result<Self> {
        match language {
            "express" => Self::express(room),
            "php" => Self::php(room),
            _ => Self::python(language, room),
        }
    }

    pub fn port(&self) -> u16 {
        self.server.port()
    }

    fn express(room: ShopsRoom<'_>) -> Result<Self> {
        let copies =
            node_copies(&[example("express.mjs"), example("beekeeper_pass.mjs"), own("shops/shop.mjs")])?;
        let server = ScriptServer::start("express", Path::new("node"), |command, port| {
            command.arg(copies.path().join("shop.mjs"));
            room.configure(command, port);
        })?;
        Ok(Self { language: "express", server, _copies: Some(copies) })
    }

    fn python(language: &'static str, room: ShopsRoom<'_>) -> Result<Self> {
        let server = ScriptServer::start(language, &python()?, |command, port| {
            command.arg(own("shops").join(format!("shop_{language}.py")));
            command.env("PYTHONPATH", example("")).env("PYTHONDONTWRITEBYTECODE", "1");
            room.configure(command, port);
        })?;
        Ok(Self { language, server, _copies: None })
    }

    fn php(room: ShopsRoom<'_>) -> Result<Self> {
        let server = ScriptServer::start("php", &php()?, |command, port| {
            command.arg("-S").arg(format!("127.0.0.1:{port}")).arg(own("shops/shop.php"));
            command.env("CONNECTORS", example(""));
            room.configure(command, port);
        })?;
        Ok(Self { language: "php", server, _copies: None })
    }
}

/// A folder with copies of these files, where Node.js finds the packages of the connectors' tests.
pub fn node_copies(files: &[PathBuf]) -> Result<TempDir> {
    let copies = tempfile::tempdir_in(browser::npm_packages("connectors-node", &own("."))?)?;
    for file in files {
        let name = file.file_name().context("a file has a name")?;
        fs::copy(file, copies.path().join(name))
            .with_context(|| format!("could not copy {}", file.display()))?;
    }
    Ok(copies)
}

/// Python with the packages of the connectors' tests.
pub fn python() -> Result<PathBuf> {
    let packages = ["cryptography==50.0.2", "pyjwt==2.15.1", "uvicorn==0.54.0"];
    Ok(Venv::with("connectors-python", &packages)?.python())
}

fn own(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn example(file: &str) -> PathBuf {
    workspace::root().join("docs/connectors").join(file)
}
