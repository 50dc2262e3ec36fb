//! Every route of a room, as plain data.
//!
//! The room on one machine executes this table, and so does the door's function behind an edge on AWS. The tests of
//! `stack_template` compare each row with `infra/template.yaml`, which describes the same routes to API Gateway. A new route
//! needs a row here, an arm in [`Reads`](crate::Reads) if it only reads, or else one in `App` and one in the door's function, and a path in the
//! template.

use pass::GuardReport;

/// One route: a path, and everything that is the same for all of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The path in API Gateway's notation: `{name}` is one segment of the path, `{name+}` the rest of it. Here the
    /// rest may be empty.
    pub path: &'static str,
    /// Other methods get status 405.
    pub methods: &'static [&'static str],
    pub handler: Handler,
    /// The constant headers of an answer that is not an error. Names are in lower case.
    pub headers: &'static [(&'static str, &'static str)],
    pub on_aws: AwsHandler,
}

/// Who answers a route on one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handler {
    /// Leads to the door: the room's URL itself is what people type and share.
    Root,
    /// `producer::Producer`
    Door,
    /// `producer::Producer::take_report`
    Guard,
    /// `poll::Poll::poll`
    Poll,
    /// `poll::Poll::status`
    Status,
    /// `poll::Poll::client`
    ClientCheck,
    /// The public keys of the room.
    PublicKeys,
    /// Where the public keys are, for whoever knows only the issuer of a pass.
    Discovery,
    /// The files of the waiting page.
    Page,
    /// The page in every state, for its designer.
    Preview,
}

/// Who answers a route on AWS, behind API Gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AwsHandler {
    /// A function.
    Function,
    /// The ledger's table. API Gateway calls this action of DynamoDB directly, without a function.
    Table { action: &'static str },
    /// The bucket with the files of the page.
    Bucket,
    /// API Gateway itself, with this status.
    Gateway { status: u16 },
    /// None: the route exists on one machine only.
    Absent,
}

const READ: &[&str] = &["GET", "HEAD"];

/// What is asked most comes first, and is found first.
pub const ROUTES: &[Route] = &[
    Route {
        path: "/polling",
        methods: READ,
        handler: Handler::Poll,
        headers: &[("cache-control", "no-store")],
        on_aws: AwsHandler::Table { action: "BatchGetItem" },
    },
    Route {
        path: "/beekeeper",
        methods: READ,
        handler: Handler::Door,
        headers: &[("cache-control", "no-store")],
        on_aws: AwsHandler::Function,
    },
    Route {
        path: "/",
        methods: READ,
        handler: Handler::Root,
        headers: &[("cache-control", "no-store")],
        on_aws: AwsHandler::Gateway { status: 302 },
    },
    Route {
        path: GuardReport::PATH,
        methods: &["POST"],
        handler: Handler::Guard,
        headers: &[("cache-control", "no-store")],
        on_aws: AwsHandler::Function,
    },
    Route {
        path: "/status",
        methods: READ,
        handler: Handler::Status,
        // The same for everybody, so that an edge asks once a second for all of them.
        headers: &[("cache-control", "public, max-age=1")],
        on_aws: AwsHandler::Table { action: "BatchGetItem" },
    },
    Route {
        path: "/client",
        methods: READ,
        handler: Handler::ClientCheck,
        headers: &[
            ("cache-control", "no-store"),
            // The shop's pages read the answer of a request with cookies. The allowed origin is a setting, so it is
            // not listed here.
            ("access-control-allow-credentials", "true"),
            ("vary", "Origin"),
        ],
        on_aws: AwsHandler::Table { action: "BatchGetItem" },
    },
    Route {
        path: "/.well-known/jwks.json",
        methods: READ,
        handler: Handler::PublicKeys,
        // Any page may verify passes. An edge asks again soon: a key that was dropped shall not be good there for long.
        headers: &[
            ("cache-control", "public, max-age=300, s-maxage=5, stale-if-error=0"),
            ("access-control-allow-origin", "*"),
        ],
        on_aws: AwsHandler::Table { action: "GetItem" },
    },
    Route {
        path: "/.well-known/openid-configuration",
        methods: READ,
        handler: Handler::Discovery,
        headers: &[("cache-control", "public, max-age=300")],
        on_aws: AwsHandler::Gateway { status: 200 },
    },
    Route {
        path: "/wait/{file}",
        methods: READ,
        handler: Handler::Page,
        headers: &[
            ("cache-control", "public, max-age=60"),
            ("referrer-policy", "no-referrer"),
            ("x-content-type-options", "nosniff"),
            ("x-robots-tag", "noindex"),
        ],
        on_aws: AwsHandler::Bucket,
    },
    Route {
        path: "/preview/{path+}",
        methods: READ,
        handler: Handler::Preview,
        headers: &[
            ("cache-control", "no-store"),
            ("referrer-policy", "no-referrer"),
            ("x-content-type-options", "nosniff"),
            ("x-robots-tag", "noindex"),
        ],
        on_aws: AwsHandler::Absent,
    },
];

/// Where [`Handler::Root`] leads to. Relative, because the room may be below a path of its public URL.
pub const DOOR: &str = "beekeeper";

/// The texts of errors, the same here and in `infra/template.yaml`. They are sent as `{"error": "…"}`.
pub mod problem {
    pub const NOT_FOUND: &str = "there is nothing here; the room's door is /beekeeper";
    pub const ONLY_READ: &str = "only GET and HEAD are answered";
    pub const ONLY_POST: &str = "only POST is answered";
    pub const UNAVAILABLE: &str = "the room cannot answer just now; try again in half a minute";
}

/// After how many seconds a client may retry a request that the room could not answer. The pages do not read it: their pauses
/// are random.
pub const RETRY_AFTER: u32 = 30;

impl Route {
    /// The route of this path, and the part of the path that matches its parameter.
    pub fn find(path: &str) -> Option<(&'static Self, &str)> {
        ROUTES.iter().find_map(|route| Some((route, route.parameter(path)?)))
    }

    pub fn allows(&self, method: &str) -> bool {
        self.methods.contains(&method)
    }

    /// Why another method is not answered.
    pub fn refusal(&self) -> &'static str {
        if self.methods == READ { problem::ONLY_READ } else { problem::ONLY_POST }
    }

    /// The value of the `Allow` header.
    pub fn allow(&self) -> String {
        self.methods.join(", ")
    }

    /// The part of `path` that matches the parameter: empty if this route has no parameter, `None` if the path does not
    /// match.
    fn parameter<'a>(&self, path: &'a str) -> Option<&'a str> {
        let Some((start, parameter)) = self.path.split_once('{') else {
            return (path == self.path).then_some("");
        };
        let rest = path.strip_prefix(start)?;
        let is_one_segment = !rest.is_empty() && !rest.contains('/');
        (is_one_segment || parameter.ends_with("+}")).then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};
    use producer::DoorAnswer;

    use super::*;

    fn found(path: &str) -> Option<(Handler, &str)> {
        Route::find(path).map(|(route, parameter)| (route.handler, parameter))
    }

    #[test]
    fn paths_are_matched_whole() {
        assert_eq!(found("/"), Some((Handler::Root, "")));
        assert_eq!(found("/beekeeper"), Some((Handler::Door, "")));
        assert_eq!(found("/.well-known/jwks.json"), Some((Handler::PublicKeys, "")));
        assert_eq!(found("/wait/bee.svg"), Some((Handler::Page, "bee.svg")));
        assert_eq!(found("/preview/"), Some((Handler::Preview, "")));
        assert_eq!(found("/preview/turn/wait/bee.svg"), Some((Handler::Preview, "turn/wait/bee.svg")));
        for path in
            ["", "//", "/beekeeper/", "/Beekeeper", "//polling", "/wait", "/wait/", "/wait/a/b", "/preview"]
        {
            assert_eq!(found(path), None, "{path}");
        }
    }

    #[test]
    fn headers_can_be_sent() {
        for (name, value) in ROUTES.iter().flat_map(|route| route.headers) {
            // Both panic if the header is invalid.
            let _ = (HeaderName::from_static(name), HeaderValue::from_static(value));
        }
    }

    /// The door's headers are the producer's own, and not set from this table.
    #[test]
    fn the_doors_headers_are_the_producers() {
        let (door, _) = Route::find("/beekeeper").unwrap();
        let answer = DoorAnswer::busy();
        assert_eq!(answer.retry_after, Some(RETRY_AFTER));
        let response = answer.into_response();
        for (name, value) in door.headers {
            assert_eq!(response.headers()[*name], *value, "{name}");
        }
    }
}
