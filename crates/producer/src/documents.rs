//! The documents that the door itself answers with, in the languages of the page.

use std::fmt::Write;

use waitroom::{HelpCode, Notice, Room};

/// For somebody who comes too late. A browser with JavaScript goes on to the waiting page, which follows the room. The text here is
/// for the others: the page itself is a file, and says that they are in line. They ask again, as seldom as that page, because the room
/// may go on.
///
/// `page` is where the waiting page is, with the place of somebody who still has one.
pub(crate) fn too_late(room: &Room, page: &str) -> String {
    let texts = if room.is_over() { include_str!("ended.html") } else { include_str!("closed.html") };
    let goes_on = include_str!("goes_on.html").replace("{{page}}", page);
    titled(room, &goes_on, &format!("{}{texts}", notice(room)))
}

/// For somebody who asked for help.
pub(crate) fn help(room: &Room, code: HelpCode) -> String {
    titled(room, "", &include_str!("help.html").replace("{{code}}", &code.to_string()))
}

/// A document under the title of the room. `head` is what else is in its head.
fn titled(room: &Room, head: &str, main: &str) -> String {
    include_str!("titled.html")
        .replace("{{title}}", &escaped(room.settings.title.as_str()))
        .replace("{{head}}", head)
        .replace("{{main}}", main)
}

/// For somebody in line whose browser runs no script, if only so many more are let in.
pub(crate) fn scarce(room: &Room, left: u32, ahead: u64) -> String {
    let asks_again = "<meta http-equiv=\"refresh\" content=\"20\">\n";
    let told = include_str!("scarce.html")
        .replace("{{left}}", &left.to_string())
        .replace("{{ahead}}", &ahead.to_string());
    titled(room, asks_again, &told)
}

fn notice(room: &Room) -> String {
    let mut notice = String::new();
    let text = room.text_for_latecomers().as_str();
    if !text.is_empty() {
        let _ = writeln!(
            notice,
            "<p dir=\"auto\" lang=\"\" style=\"white-space: pre-line\">{}</p>",
            escaped(text)
        );
    }
    if let Notice { link: Some(link), .. } = &room.notice {
        let link = escaped(&link.to_string());
        let _ = writeln!(notice, "<p><a href=\"{link}\">{link}</a></p>");
    }
    notice
}

/// With `{` escaped as well, so that nothing in it is taken for a part of the document that is filled in.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' | '<' | '>' | '"' | '\'' | '{' => {
                let _ = write!(escaped, "&#{};", u32::from(character));
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use waitroom::{RoomState, fixture};

    use super::*;

    fn room(state: RoomState) -> Room {
        let text = "<b>Sold out</b> & gone {{title}}".parse().unwrap();
        let notice = Notice { text, link: Some("https://shop.example/next?a=1&b=2".parse().unwrap()) };
        Room { state, notice, ..fixture::room(300) }
    }

    #[test]
    fn the_operators_words_are_shown_as_they_were_written() {
        for (state, ours) in
            [(RoomState::Closed, "The line is closed"), (RoomState::Ended, "The line has ended")]
        {
            let html = too_late(&room(state), "wait/index.html#ab12-7");
            assert!(
                html.contains("&#60;b&#62;Sold out&#60;/b&#62; &#38; gone &#123;&#123;title}}</p>"),
                "{html}"
            );
            assert!(html.contains("<a href=\"https://shop.example/next?a=1&#38;b=2\">"), "{html}");
            assert!(html.contains("location.replace(\"wait/index.html#ab12-7\")"));
            let asks_again = "<noscript><meta http-equiv=\"refresh\" content=\"300\"></noscript>\n<body";
            assert!(html.contains(asks_again), "only without JavaScript, and in the head: {html}");
            assert_eq!(html.matches("<a href=\"beekeeper\">").count(), 7, "{html}");
            assert!(html.contains(ours) && html.matches("<p lang=").count() == 6 && !html.contains("{{"));
        }
    }

    #[test]
    fn without_words_of_the_operator_there_are_ours() {
        let html = too_late(&fixture::room(300), "wait/index.html");
        assert_eq!(
            (html.matches("<p").count(), html.matches("<a ").count()),
            (7, 7),
            "only links to the door: {html}"
        );
    }

    #[test]
    fn a_line_that_is_too_long_is_told_in_every_language() {
        let mut room = fixture::room(300);
        room.settings.title = "Sale <b>".parse().unwrap();
        let html = scarce(&room, 200, 350);
        assert!(html.contains("People who can still enter: 200. Ahead of you: about 350."), "{html}");
        let says_both = html
            .lines()
            .filter(|line| line.starts_with("<p") && line.contains("200") && line.contains("350"));
        assert_eq!(
            (says_both.count(), html.matches("<a href=\"beekeeper?plain=1\">").count()),
            (7, 7),
            "{html}"
        );
        assert!(html.contains("Sale &#60;b&#62;</h1>") && !html.contains("{{"), "{html}");
        assert!(html.contains("<meta http-equiv=\"refresh\" content=\"20\">"), "{html}");
    }

    #[test]
    fn a_help_code_is_shown_in_every_language() {
        let mut room = fixture::room(300);
        room.settings.title = "Sale <b>".parse().unwrap();
        let html = help(&room, "7K3M-Q01X".parse().unwrap());
        assert!(html.contains(">7K3M-Q01X</p>") && html.contains("Sale &#60;b&#62;</h1>"), "{html}");
        assert_eq!(html.matches("<a href=\"beekeeper\">").count(), 7, "{html}");
        assert!(!html.contains("{{"), "{html}");
    }
}
