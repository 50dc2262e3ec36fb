use anyhow::{Result, bail};
use operator::{Command, Reply, Status};

use waitroom::governor::{Finding, Verdict};

use crate::arguments;
use crate::commands::change::state;
use crate::commands::send;
use crate::printer::say;

pub(crate) fn run(arguments: &arguments::Status) -> Result<()> {
    let Reply::Status(status) = send(&arguments.room, &Command::Status)? else {
        bail!("the room {} answered something else; is it of another version?", arguments.room.name);
    };
    if arguments.room.json {
        return Ok(say(&serde_json::to_string(&status)?)?);
    }
    Ok(say(&text(&status))?)
}

fn verdict(finding: &Finding) -> String {
    let millis =
        |seconds: Option<f64>| seconds.map_or("-".into(), |seconds| format!("{:.0} ms", seconds * 1000.0));
    let verdict = match finding.verdict {
        Verdict::Well => "well",
        Verdict::Slow => "slow",
        Verdict::Failing => "failing",
    };
    format!(
        "shop's health  {verdict}: {} on average, {} is too slow, {} of 20 failed; {} a minute",
        millis(finding.mean),
        millis(finding.threshold),
        finding.failed,
        finding.rate
    )
}

fn text(status: &Status) -> String {
    let Status { room, line, released, windows, findings, .. } = status;
    let windows: Vec<_> =
        windows.iter().map(|window| format!("{} of {}", window.released, window.planned)).collect();
    let mut lines = vec![
        format!("{} ({}), {}", room.settings.title, room.settings.room, state(room)),
        format!("waiting        {}", line.waiting),
        format!("served         up to number {}", line.served),
        format!("released       {released}"),
        format!("this window    {}", windows.first().map_or("none yet", String::as_str)),
        format!("the one before {}", windows.get(1).map_or("none yet", String::as_str)),
        format!("rate           {} a minute", room.settings.rate),
        format!("shop           {}", room.settings.shop),
    ];
    if let Some(throttled) = room.throttled {
        lines.push(format!("throttled to   {throttled} a minute: the shop suffers"));
    }
    for finding in findings.iter().rev().take(5) {
        lines.push(verdict(finding));
    }
    if !room.settings.message.as_str().is_empty() {
        lines.push(format!("message        {:?}", room.settings.message.as_str()));
    }
    lines.join("\n")
}
