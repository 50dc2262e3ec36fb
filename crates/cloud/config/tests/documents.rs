//! docs/settings.md has the table of the settings. A test that fails prints what belongs into the document.

use config::{Allowed, ConfigValue, Presence, ROWS, SettingRow};

const PAGE: &str = include_str!("../../../../docs/settings.md");

/// A value as the file has it.
fn value(value: ConfigValue<'_>) -> String {
    match value {
        ConfigValue::Text(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}

/// What may stand there.
fn allowed(row: &SettingRow) -> String {
    match row.allowed {
        // Of a page's folder, the stack only knows whether there is one.
        Allowed::OneText(texts) if row.example.as_text().is_some_and(|text| texts.contains(&text)) => {
            texts.iter().map(|text| format!("`{text:?}`")).collect::<Vec<_>>().join(", ")
        }
        Allowed::Text if matches!(row.example, ConfigValue::Number(_)) => "a number".into(),
        Allowed::Text | Allowed::OneText(_) => "a text".into(),
        Allowed::Number { from, to } => format!("{from} to {to}"),
        Allowed::OneNumber(numbers) => numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
        Allowed::Flag => "`true`, `false`".into(),
    }
}

/// The explanation of a new file, whose names of pages are links here.
fn explanation(row: &SettingRow) -> String {
    let mut parts = row.explanation.trim().split("docs/");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| match part.split_once(".md") {
        Some((page, rest)) => format!("{text}[{page}.md]({page}.md){rest}"),
        None => text + part,
    })
}

fn table(presences: &[Presence]) -> String {
    let rows = ROWS.iter().filter(|row| presences.contains(&row.presence));
    let lines = rows.map(|row| {
        format!("| `{} = {}` | {} | {} |\n", row.key, value(row.example), allowed(row), explanation(row))
    });
    ["| setting | may be | |\n| --- | --- | --- |\n".to_owned()].into_iter().chain(lines).collect()
}

#[test]
fn the_page_has_every_setting_as_a_new_file_explains_it() {
    let tables = [
        table(&[Presence::Required, Presence::Defaulted]),
        table(&[Presence::Optional]),
        table(&[Presence::OnAws]),
    ];
    let other = tables.iter().filter(|table| !PAGE.contains(table.as_str())).cloned().collect::<String>();
    assert!(other.is_empty(), "docs/settings.md has other tables. They should be:\n\n{other}");
    let listed = PAGE.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(listed, ROWS.len(), "docs/settings.md has a setting that there isn't");
}
