//! The addresses of a server block.

/// A `listen` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listen {
    /// As it is written.
    address: String,
    pub(crate) is_tls: bool,
    http2: bool,
    proxy_protocol: bool,
    quic: bool,
}

impl Listen {
    pub(super) fn of(arguments: &[String], by_old_line: bool) -> Self {
        let has = |word: &str| arguments.iter().skip(1).any(|found| found == word);
        Self {
            address: arguments.first().cloned().unwrap_or_default(),
            is_tls: has("ssl") || by_old_line,
            http2: has("http2"),
            proxy_protocol: has("proxy_protocol"),
            quic: has("quic"),
        }
    }

    /// Address and port. Two lines with the same are one socket.
    pub(super) fn socket(&self) -> String {
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

    /// The lines of another server block at the same addresses. What belongs to the socket, such as `backlog`, may be said once
    /// only, and the shop's block says it.
    pub(super) fn lines(listens: &[Self], tls: bool) -> String {
        let mut lines: Vec<String> = Vec::new();
        for listen in listens.iter().filter(|listen| listen.is_tls == tls && !listen.quic) {
            let flags = [
                (listen.is_tls, " ssl"),
                (listen.http2, " http2"),
                (listen.proxy_protocol, " proxy_protocol"),
            ];
            let flags: String = flags.iter().filter_map(|(is_set, flag)| is_set.then_some(*flag)).collect();
            let line = format!("    listen {}{flags};", listen.address);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.join("\n")
    }

    /// The same address with the port of http, for a shop that answers at https only.
    pub(super) fn as_http(&self) -> Option<Self> {
        let address = match self.address.rsplit_once(':') {
            Some((host, "443")) => format!("{host}:80"),
            None if self.address == "443" => "80".to_owned(),
            _ => return None,
        };
        Some(Self { address, is_tls: false, http2: false, quic: false, ..self.clone() })
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
