use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::{EdgeProxy, browser, workspace};

const HIT: &str = "Hit from cloudfront";
const MISS: &str = "Miss from cloudfront";
const ERROR: &str = "Error from cloudfront";

const PAGE: &str = "/wait/index.html";

/// What a visitor's browser asks a room behind an edge first and last. In between it may ask either again.
const FIRST: [&str; 4] = ["/beekeeper", PAGE, "/polling", "/status"];
const LAST: [&str; 2] = ["/polling", "/beekeeper"];

/// Two visitors who come to a room behind an edge, in Chromium.
#[derive(Debug)]
pub struct EdgeVisitors {
    node: Child,
    told: Lines<BufReader<ChildStdout>>,
    tickets: Vec<String>,
}

impl EdgeVisitors {
    /// They follow the link to the room, one after the other.
    pub fn come(edge: &EdgeProxy) -> Result<Self> {
        let script = workspace::root().join("crates/testing/emulators/src/edge/visitors.js");
        let mut node = Command::new("node");
        node.arg(script).arg(format!("{}/beekeeper", edge.base())).stdout(Stdio::piped());
        node.env("NODE_PACKAGES", browser::packages()?.join("")).env("CHROMIUM", browser::chromium()?);
        let mut node = node.spawn().context("could not start node: this test needs Node.js 20 or newer")?;
        let told = BufReader::new(node.stdout.take().context("node has an output")?).lines();
        Ok(Self { node, told, tickets: vec![] })
    }

    /// Returns once both wait in the line of a paused room.
    pub fn wait(&mut self) -> Result<()> {
        self.tickets = serde_json::from_str(&self.next()?)?;
        ensure!(self.tickets.len() == 2 && self.tickets[0] != self.tickets[1], "tickets {:?}", self.tickets);
        Ok(())
    }

    /// Returns once both are in the shop. An error if one of them got what is another's, or asked for what a browser behind an edge
    /// doesn't. Says whether the first one came although the origin couldn't answer.
    pub fn arrive(mut self) -> Result<bool> {
        let asked: Value = serde_json::from_str(&self.next()?)?;
        ensure!(self.node.wait()?.success(), "the browser's script failed");
        let mut pages = Vec::new();
        for (asked, ticket) in asked.as_array().into_iter().flatten().zip(&self.tickets) {
            let asked = asked.as_array().context("a visitor asked for nothing")?;
            check_walk(asked)?;
            for one in asked {
                ensure!(is_own(one, ticket), "who has the ticket {ticket} asked {one}");
            }
            pages.extend(asked.iter().filter(|one| one["path"] == PAGE).map(|one| one["edge"].clone()));
        }
        ensure!(pages == [MISS, HIT], "both get the same page: {asked}");
        Ok(asked[0][0]["edge"] == ERROR)
    }

    fn next(&mut self) -> Result<String> {
        Ok(self.told.next().context("the browser's script ended early")??)
    }
}

impl Drop for EdgeVisitors {
    fn drop(&mut self) {
        // It has ended, unless a test failed.
        let _ = self.node.kill().and_then(|()| self.node.wait());
    }
}

fn check_walk(asked: &[Value]) -> Result<()> {
    let paths: Vec<_> = asked.iter().filter_map(|one| one["path"].as_str()).collect();
    let mut walk = paths.clone();
    walk.dedup();
    ensure!(walk.starts_with(&FIRST) && walk.ends_with(&LAST), "{paths:?}");
    Ok(())
}

/// Whether a request has the cookies that it needs, and its answer comes from where it may.
fn is_own(asked: &Value, ticket: &str) -> bool {
    let [path, cookies, edge] =
        ["path", "cookies", "edge"].map(|name| asked[name].as_str().unwrap_or_default());
    let is_place = |cookie: &str| cookie.starts_with("bk_") && cookie.ends_with(&format!("-{ticket}"));
    match path {
        "/status" => cookies.is_empty(),
        "/polling" => edge == MISS && cookies.split("; ").any(is_place),
        "/beekeeper" => edge == MISS || edge == ERROR,
        _ => path == PAGE,
    }
}
