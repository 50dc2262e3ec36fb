//! The addresses of a server block.

/// What another block at the same address has to say too. The rest of a line belongs to the socket, and may be said once only.
const SHARED: [&str; 3] = ["ssl", "http2", "proxy_protocol"];

/// A `listen` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listen {
    /// As it is written.
    address: String,
    /// Those of [`SHARED`].
    flags: Vec<&'static str>,
    /// HTTP/3, which has no part in this: its visitors come by the other lines too.
    is_quic: bool,
}

impl Listen {
    pub(crate) fn of(arguments: &[String], by_old_line: bool) -> Self {
        let has = |flag: &str| arguments.iter().skip(1).any(|found| found == flag);
        let is_set = |flag: &&str| has(flag) || (by_old_line && *flag == "ssl");
        Self {
            address: arguments.first().cloned().unwrap_or_default(),
            flags: SHARED.into_iter().filter(is_set).collect(),
            is_quic: has("quic"),
        }
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.flags.contains(&"ssl")
    }

    /// Address and port. Two lines with the same are one socket.
    pub(crate) fn socket(&self) -> String {
        let address = &self.address;
        if address.starts_with("unix:") {
            return address.clone();
        }
        if address.bytes().all(|byte| byte.is_ascii_digit()) {
            return format!("*:{address}");
        }
        let (host, port) = match address.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port),
            _ => (&**address, "80"),
        };
        format!("{}:{port}", if host == "0.0.0.0" { "*" } else { host })
    }

    pub(crate) fn port(&self) -> Option<u16> {
        self.socket().rsplit_once(':')?.1.parse().ok()
    }

    /// Whether only programs of this machine come by it.
    pub(crate) fn is_of_this_machine(&self) -> bool {
        let socket = self.socket();
        ["unix:", "127.", "[::1]:", "localhost:"].iter().any(|begin| socket.starts_with(begin))
    }

    pub(crate) fn has_proxy_protocol(&self) -> bool {
        self.flags.contains(&"proxy_protocol")
    }

    /// The lines of another server block at the same addresses.
    pub(crate) fn lines(listens: &[Self], tls: bool) -> String {
        let mut lines: Vec<String> = Vec::new();
        for listen in listens.iter().filter(|listen| listen.is_tls() == tls && !listen.is_quic) {
            let words = [&["listen", &listen.address], &*listen.flags].concat();
            let line = format!("    {};", words.join(" "));
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.join("\n")
    }

    /// The same address with the port of http, for a shop that answers at https only.
    pub(crate) fn as_http(&self) -> Option<Self> {
        let address = match self.address.rsplit_once(':') {
            Some((host, "443")) => format!("{host}:80"),
            None if self.address == "443" => "80".to_owned(),
            _ => return None,
        };
        let flags = self.flags.iter().copied().filter(|flag| *flag == "proxy_protocol").collect();
        (!self.is_quic).then_some(Self { address, flags, is_quic: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listen(line: &str) -> Listen {
        Listen::of(&line.split(' ').map(str::to_owned).collect::<Vec<_>>(), false)
    }

    #[test]
    fn one_socket_is_written_in_several_ways() {
        for (line, socket) in [
            ("80", "*:80"),
            ("*:80", "*:80"),
            ("0.0.0.0:80 default_server", "*:80"),
            ("[::]:443 ssl", "[::]:443"),
            ("[::1]", "[::1]:80"),
            ("10.0.0.1", "10.0.0.1:80"),
            ("unix:/run/a:b", "unix:/run/a:b"),
        ] {
            assert_eq!(listen(line).socket(), socket, "{line}");
        }
    }

    #[test]
    fn another_block_shares_the_sockets_and_says_nothing_of_them() {
        let all = [
            listen("80 default_server backlog=4096"),
            listen("443 ssl http2 reuseport default_server"),
            listen("[::]:443 ssl http2 ipv6only=on"),
            listen("443 ssl http2"),
            listen("443 quic reuseport"),
        ];
        assert_eq!(Listen::lines(&all, false), "    listen 80;");
        assert_eq!(Listen::lines(&all, true), "    listen 443 ssl http2;\n    listen [::]:443 ssl http2;");
    }

    #[test]
    fn a_shop_at_https_only_has_http_beside_it() {
        let http = |line: &str| listen(line).as_http().map(|listen| listen.address);
        assert_eq!(http("[::]:443 ssl").as_deref(), Some("[::]:80"));
        assert_eq!(http("443 ssl").as_deref(), Some("80"));
        assert_eq!(http("8443 ssl"), None);
    }
}
