//! What a server block says: its names, where it listens, and whether it shows anything.

use crate::listen::Listen;
use crate::tree::FoundDirective;

impl FoundDirective<'_> {
    /// The server blocks of an http block.
    pub(crate) fn servers(self) -> impl Iterator<Item = Self> {
        self.own("server")
    }

    /// The names of a server block, in lower case.
    pub(crate) fn names(self) -> impl Iterator<Item = String> {
        let lines = self.own("server_name");
        lines.flat_map(|line| line.directive.arguments()).map(|name| name.to_ascii_lowercase())
    }

    pub(crate) fn has_name(self, name: &str) -> bool {
        self.names().any(|found| found == name)
    }

    /// Where a server block listens: at port 80, if it doesn't say.
    pub(crate) fn listens(self) -> Vec<Listen> {
        let by_old_line = self.own("ssl").any(Self::is_on);
        let lines = self.own("listen");
        let found: Vec<_> = lines.map(|line| Listen::of(line.directive.arguments(), by_old_line)).collect();
        if found.is_empty() { vec![Listen::of(&["80".into()], by_old_line)] } else { found }
    }

    pub(crate) fn listens_by_https(self) -> bool {
        self.listens().iter().any(Listen::is_tls)
    }

    /// Whether a server block only sends visitors elsewhere, as from http to https. Nobody sees the shop there.
    pub(crate) fn leads_away(self) -> bool {
        let returns = |block: Self| {
            block.own("return").any(|found| {
                let code = found.directive.first();
                code.starts_with(['3', '4']) || code.starts_with("http")
            })
        };
        if returns(self) {
            return true;
        }
        let locations: Vec<_> = self.own("location").collect();
        let is_for_certificates = |location: &Self| {
            location.directive.arguments().iter().any(|path| path.starts_with("/.well-known/acme-challenge"))
        };
        locations.iter().any(|location| returns(*location))
            && locations.iter().all(|location| returns(*location) || is_for_certificates(location))
    }

    pub(crate) fn includes(self, file: &str) -> bool {
        self.own("include").any(|include| include.directive.first() == file)
    }

    /// Whether it is a line such as `http2 on;`.
    pub(crate) fn is_on(self) -> bool {
        self.directive.first() == "on"
    }
}
