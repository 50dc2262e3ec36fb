//! The guard's headers, which tell the shop who a visitor is. nginx writes them over what a browser sent under the same names.

/// A header, and the variable of nginx with what the guard said.
const HEADERS: [(&str, &str); 2] =
    [("X-Beekeeper-Subject", "$bk_subject"), ("X-Beekeeper-Number", "$bk_number")];

/// How nginx hands a request to the shop's program.
#[derive(Debug)]
pub(crate) struct HandOver {
    /// The directive that names the program.
    pub(crate) to: &'static str,
    /// The directive that sets a header. A block with one of its own forgets those around it.
    pub(crate) sets: &'static str,
    /// Headers are variables there, as in CGI.
    is_cgi: bool,
}

pub(crate) const WAYS: [HandOver; 5] = [
    HandOver { to: "proxy_pass", sets: "proxy_set_header", is_cgi: false },
    HandOver { to: "grpc_pass", sets: "grpc_set_header", is_cgi: false },
    HandOver { to: "fastcgi_pass", sets: "fastcgi_param", is_cgi: true },
    HandOver { to: "uwsgi_pass", sets: "uwsgi_param", is_cgi: true },
    HandOver { to: "scgi_pass", sets: "scgi_param", is_cgi: true },
];

impl HandOver {
    /// What each header is called in this way, and the line that sets it to what the guard said. Without a value, none is sent.
    pub(crate) fn lines(&self) -> [(String, String); 2] {
        HEADERS.map(|(header, value)| {
            let Self { sets, is_cgi, .. } = self;
            if *is_cgi {
                let name = format!("HTTP_{}", header.to_ascii_uppercase().replace('-', "_"));
                let line = format!("{sets} {name} {value} if_not_empty;");
                return (name, line);
            }
            (header.to_owned(), format!("{sets} {header} {value};"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_gets_the_headers_as_it_gets_all_others() {
        let lines = |way: usize| WAYS[way].lines().map(|(_, line)| line);
        assert_eq!(
            lines(0),
            [
                "proxy_set_header X-Beekeeper-Subject $bk_subject;",
                "proxy_set_header X-Beekeeper-Number $bk_number;"
            ]
        );
        assert_eq!(lines(2)[0], "fastcgi_param HTTP_X_BEEKEEPER_SUBJECT $bk_subject if_not_empty;");
    }
}
