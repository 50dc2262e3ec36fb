//! One file of nginx's configuration, as directives that know where they stand. So an edit inserts a line at an offset, and
//! everything else in the file, comments and spacing too, stays byte for byte.
//!
//! The words are split as `ngx_conf_read_token` does it: a quotation mark counts only where a word begins, `#` as well, and the
//! brace of `${name}` opens no block.

use std::ops::Range;

/// A name, its arguments, and perhaps a block: `listen 80;` or `server { … }`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NginxDirective {
    /// At least one: the name.
    words: Vec<String>,
    /// All of it, with the semicolon or the closing brace.
    pub(crate) at: Range<usize>,
    pub(crate) block: Option<NginxBlock>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NginxBlock {
    /// Behind the opening brace.
    pub(crate) begin: usize,
    pub(crate) directives: Vec<NginxDirective>,
}

impl NginxDirective {
    pub(crate) fn name(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    pub(crate) fn arguments(&self) -> &[String] {
        self.words.get(1..).unwrap_or_default()
    }

    pub(crate) fn first(&self) -> &str {
        self.arguments().first().map_or("", String::as_str)
    }

    pub(crate) fn has(&self, argument: &str) -> bool {
        self.arguments().iter().any(|found| found == argument)
    }
}

/// Why a file cannot be read, and where.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub(crate) struct SyntaxError {
    pub(crate) at: usize,
    problem: &'static str,
}

/// The line of an offset, from 1.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

pub(crate) fn parse(text: &str) -> Result<Vec<NginxDirective>, SyntaxError> {
    WordReader { text, at: 0 }.directives(None)
}

enum Lexeme {
    Word(String),
    End,
    Open,
    Close,
}

struct WordReader<'a> {
    text: &'a str,
    at: usize,
}

impl WordReader<'_> {
    /// The directives up to the end of the file, or of the block that was opened there.
    fn directives(&mut self, opened: Option<usize>) -> Result<Vec<NginxDirective>, SyntaxError> {
        let (mut directives, mut words, mut begin) = (Vec::new(), Vec::new(), 0);
        loop {
            let Some((at, lexeme)) = self.next()? else {
                return match opened {
                    Some(at) => Err(SyntaxError { at, problem: "this block is never closed" }),
                    None if words.is_empty() => Ok(directives),
                    None => Err(SyntaxError { at: begin, problem: "this directive has no semicolon" }),
                };
            };
            let is_empty = words.is_empty();
            match lexeme {
                Lexeme::Word(word) => {
                    if is_empty {
                        begin = at;
                    }
                    words.push(word);
                }
                Lexeme::End if !is_empty => {
                    let words = std::mem::take(&mut words);
                    directives.push(NginxDirective { words, at: begin..self.at, block: None });
                }
                Lexeme::Open if !is_empty => {
                    let words: Vec<String> = std::mem::take(&mut words);
                    if words.iter().any(|word| word.ends_with("_by_lua_block")) {
                        let problem = "this is a block of Lua, which is not read here";
                        return Err(SyntaxError { at: begin, problem });
                    }
                    let inside = self.at;
                    let inner = self.directives(Some(at))?;
                    let block = Some(NginxBlock { begin: inside, directives: inner });
                    directives.push(NginxDirective { words, at: begin..self.at, block });
                }
                Lexeme::Close if opened.is_some() && is_empty => return Ok(directives),
                Lexeme::Close if opened.is_some() => {
                    return Err(SyntaxError { at: begin, problem: "this directive has no semicolon" });
                }
                Lexeme::Close => return Err(SyntaxError { at, problem: "this brace closes no block" }),
                Lexeme::End | Lexeme::Open => {
                    return Err(SyntaxError { at, problem: "there is no directive before this" });
                }
            }
        }
    }

    fn next(&mut self) -> Result<Option<(usize, Lexeme)>, SyntaxError> {
        self.skip_blanks_and_comments();
        let at = self.at;
        let Some(byte) = self.peek() else { return Ok(None) };
        let lexeme = match byte {
            b';' => Lexeme::End,
            b'{' => Lexeme::Open,
            b'}' => Lexeme::Close,
            b'"' | b'\'' => return Ok(Some((at, Lexeme::Word(self.quoted(byte)?)))),
            _ => return Ok(Some((at, Lexeme::Word(self.bare())))),
        };
        self.at += 1;
        Ok(Some((at, lexeme)))
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks_and_comments(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                b'#' => {
                    let rest = self.text.as_bytes().iter().skip(self.at);
                    self.at += rest.take_while(|byte| **byte != b'\n').count();
                }
                _ => break,
            }
        }
    }

    fn quoted(&mut self, quote: u8) -> Result<String, SyntaxError> {
        let begin = self.at;
        self.at += 1;
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => self.at += 2,
                _ if byte == quote => {
                    self.at += 1;
                    return Ok(self.unescaped(begin + 1, self.at - 1));
                }
                _ => self.at += 1,
            }
        }
        self.at = self.text.len();
        Err(SyntaxError { at: begin, problem: "this quotation mark is never closed" })
    }

    fn bare(&mut self) -> String {
        let begin = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => self.at += 2,
                b'$' if self.text.as_bytes().get(self.at + 1) == Some(&b'{') => self.at += 2,
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'{' => break,
                _ => self.at += 1,
            }
        }
        self.at = self.at.min(self.text.len());
        self.unescaped(begin, self.at)
    }

    fn unescaped(&self, begin: usize, end: usize) -> String {
        let raw = self.text.get(begin..end).unwrap_or_default();
        let (mut word, mut characters) = (String::with_capacity(raw.len()), raw.chars());
        while let Some(character) = characters.next() {
            if character != '\\' {
                word.push(character);
                continue;
            }
            match characters.next() {
                Some('t') => word.push('\t'),
                Some('r') => word.push('\r'),
                Some('n') => word.push('\n'),
                Some(plain @ ('"' | '\'' | '\\')) => word.push(plain),
                // The backslash of a regular expression.
                Some(other) => word.extend(['\\', other]),
                None => word.push('\\'),
            }
        }
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each directive as its words, with the words of its block in brackets.
    fn shown(directives: &[NginxDirective]) -> String {
        let one = |directive: &NginxDirective| {
            let words = directive.words.join("|");
            match &directive.block {
                Some(block) => format!("{words}[{}]", shown(&block.directives)),
                None => words,
            }
        };
        directives.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    fn read(text: &str) -> String {
        shown(&parse(text).unwrap())
    }

    fn refused(text: &str) -> (usize, String) {
        let error = parse(text).unwrap_err();
        (line_of(text, error.at), error.to_string())
    }

    #[test]
    fn words_are_split_as_nginx_splits_them() {
        for (text, expected) in [
            ("", ""),
            ("# only a comment { ; }", ""),
            ("listen 80;", "listen|80"),
            ("listen\n  [::]:443\tssl;#x\nroot /a#b;", "listen|[::]:443|ssl root|/a#b"),
            (r#"a "b c" 'd;e{f}';"#, "a|b c|d;e{f}"),
            ("events{}", "events[]"),
            ("server { a 1; b { c; } } d;", "server[a|1 b[c]] d"),
            ("if ${host}{break;}", "if|${host}[break]"),
            ("set $x a${b}c;", "set|$x|a${b}c"),
            (r"location ~ \.php$ { return 200 'it\'s'; }", r"location|~|\.php$[return|200|it's]"),
            (r#"if ($a = "}") { break; }"#, "if|($a|=|}|)[break]"),
            (r#"log_format a '$x' "$y\n";"#, "log_format|a|$x|$y\n"),
            (r#"map $a $b { "~^/x{2}" 1; }"#, "map|$a|$b[~^/x{2}|1]"),
            ("server_name grün.example;", "server_name|grün.example"),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn a_directive_knows_its_bytes() {
        let text = "# shop\nserver {\n  listen 80; # old\n}\n";
        let directives = parse(text).unwrap();
        let server = &directives[0];
        assert_eq!(&text[server.at.clone()], "server {\n  listen 80; # old\n}");
        let block = server.block.as_ref().unwrap();
        assert_eq!(&text[block.begin..block.begin + 3], "\n  ");
        let listen = &block.directives[0];
        assert_eq!((&text[listen.at.clone()], listen.first()), ("listen 80;", "80"));
        assert!(listen.has("80") && !listen.has("ssl"));
        assert_eq!(line_of(text, listen.at.start), 3);
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_line() {
        for (text, line, problem) in [
            ("a;\nserver {\n a;\n", 2, "this block is never closed"),
            ("a;\n}\n", 2, "this brace closes no block"),
            ("a {\n b }", 2, "this directive has no semicolon"),
            ("a;\nb", 2, "this directive has no semicolon"),
            ("a;\n;", 2, "there is no directive before this"),
            ("{ a; }", 1, "there is no directive before this"),
            ("a 'b;\n", 1, "this quotation mark is never closed"),
            ("a \\", 1, "this directive has no semicolon"),
            ("a \"\\", 1, "this quotation mark is never closed"),
            ("a;\naccess_by_lua_block { if x then }", 2, "this is a block of Lua, which is not read here"),
            ("set_by_lua_block $x { return 1 }", 1, "this is a block of Lua, which is not read here"),
        ] {
            assert_eq!(refused(text), (line, problem.to_owned()), "{text}");
        }
    }
}
