//! Which requests reach the origin, with what, and whose answers are kept.

use std::fmt::Write;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::lifetime::{ErrorTimes, Times};
use super::properties::{Properties, quotable};

const CACHING_DISABLED: &str = "4135ea2d-6df8-44a3-9df3-4b5a84be39ad";
const CACHING_OPTIMIZED: &str = "658327ea-f89d-4fab-a63d-7e88639e58f6";
const ALL_VIEWER_EXCEPT_HOST_HEADER: &str = "b689b0a8-53d0-40ab-baf2-68738e2966ac";

const SECURITY_HEADERS: &str = "67f7725c-6f97-4210-82d7-5512b31e9d03";

/// What `SecurityHeadersPolicy` adds, and whether in place of what the origin sends.
const SECURE: [(&str, &str, bool); 5] = [
    ("Referrer-Policy", "strict-origin-when-cross-origin", false),
    ("Strict-Transport-Security", "max-age=31536000", false),
    ("X-Frame-Options", "SAMEORIGIN", false),
    ("X-XSS-Protection", "1; mode=block", false),
    ("X-Content-Type-Options", "nosniff", true),
];

/// nginx takes these out of a request whose answer it may keep.
const CONDITIONS: [(&str, &str); 6] = [
    ("If-Match", "$http_if_match"),
    ("If-Modified-Since", "$http_if_modified_since"),
    ("If-None-Match", "$http_if_none_match"),
    ("If-Range", "$http_if_range"),
    ("If-Unmodified-Since", "$http_if_unmodified_since"),
    ("Range", "$http_range"),
];

/// A function URL.
pub(super) struct Origin {
    pub(super) id: String,
    host: String,
    path: String,
    headers: Vec<(String, String)>,
    /// The distribution that signs, if it does.
    signer: Option<String>,
    timeouts: [u64; 2],
}

impl Origin {
    pub(super) fn read(origin: &Value, kept: &Value, distribution: &str) -> Result<Self> {
        let mut origin = Properties::new("an origin", origin)?;
        let (id, host) = (origin.needed("Id")?, origin.needed("DomainName")?);
        quotable(&host)?;
        ensure!(host.contains(".lambda-url."), "{host} is no function URL");
        let path = origin.text("OriginPath")?.unwrap_or_default();
        quotable(&path)?;
        let mut headers = vec![];
        for header in &origin.list("OriginCustomHeaders")? {
            let mut header = Properties::new("a header for the origin", header)?;
            let (name, value) = (header.needed("HeaderName")?, header.needed("HeaderValue")?);
            headers.push((quotable(&name)?.to_owned(), quotable(&value)?.to_owned()));
            header.end()?;
        }
        let control = origin.text("OriginAccessControlId")?;
        let signer = match control.map(|control| signs(kept, &control)).transpose()? {
            Some(true) => Some(distribution.to_owned()),
            _ => None,
        };
        // A function URL has one address, and nothing to be gained from another attempt.
        origin.take("ConnectionAttempts");
        let connect = origin.number("ConnectionTimeout")?.unwrap_or(10);
        let custom = origin.take("CustomOriginConfig").context("an origin has no CustomOriginConfig")?;
        let mut custom = Properties::new("an origin's CustomOriginConfig", &custom)?;
        let policy = custom.needed("OriginProtocolPolicy")?;
        ensure!(policy == "https-only", "a function URL is asked by HTTPS, not {policy}");
        for name in ["HTTPPort", "HTTPSPort", "OriginKeepaliveTimeout", "OriginSSLProtocols"] {
            custom.take(name);
        }
        let read = custom.number("OriginReadTimeout")?.unwrap_or(30);
        custom.end()?;
        origin.end()?;
        Ok(Self { id, host, path, headers, signer, timeouts: [connect, read] })
    }
}

/// Whether this access control signs all requests, or none.
fn signs(kept: &Value, control: &str) -> Result<bool> {
    match one_of(kept, "OriginAccessControls", control)?["OriginAccessControlConfig"]["SigningBehavior"]
        .as_str()
    {
        Some("always") => Ok(true),
        Some("never") => Ok(false),
        other => bail!("the edge cannot sign {other:?}"),
    }
}

fn one_of<'a>(kept: &'a Value, kind: &str, id: &str) -> Result<&'a Value> {
    let found = kept[kind].as_array().and_then(|all| all.iter().find(|one| one["Id"] == id));
    found.with_context(|| format!("the edge knows no {id} among the {kind}"))
}

/// What happens with the requests of one path.
pub(super) struct Behavior {
    /// Empty for the default.
    pattern: String,
    pub(super) origin: String,
    methods: Vec<String>,
    pub(super) times: Times,
    /// Whether an answer is kept for each encoding, and compressed here.
    encodes: bool,
    compresses: bool,
    /// Whether the origin gets the viewer's headers, cookies and query.
    passes_viewer: bool,
    response_headers: ResponseHeaders,
}

impl Behavior {
    pub(super) fn read(behavior: &Value, kept: &Value) -> Result<Self> {
        let mut behavior = Properties::new("a behavior", behavior)?;
        let pattern = behavior.text("PathPattern")?.unwrap_or_default();
        let (times, encodes) = cache_policy(&behavior.needed("CachePolicyId")?, kept)?;
        let passes_viewer = match behavior.text("OriginRequestPolicyId")?.as_deref() {
            None => false,
            Some(ALL_VIEWER_EXCEPT_HOST_HEADER) => true,
            Some(other) => bail!("the edge knows no {other} among the origin request policies"),
        };
        let methods = behavior.texts("AllowedMethods", &["GET", "HEAD"])?;
        let takes_bodies = methods.iter().any(|method| method == "POST");
        ensure!(
            !takes_bodies || passes_viewer,
            "the edge does not know which headers {pattern:?} passes on with a body"
        );
        let cached = behavior.texts("CachedMethods", &["GET", "HEAD"])?;
        ensure!(
            !times.keeps() || cached.iter().all(|method| method != "OPTIONS"),
            "the edge keeps no OPTIONS"
        );
        behavior.needed("ViewerProtocolPolicy")?;
        let response_headers = match behavior.text("ResponseHeadersPolicyId")? {
            None => ResponseHeaders::default(),
            Some(id) if id == SECURITY_HEADERS => ResponseHeaders::secure()?,
            Some(id) => {
                let policy = one_of(kept, "ResponseHeadersPolicies", &id)?;
                ResponseHeaders::read(&policy["ResponseHeadersPolicyConfig"])?
            }
        };
        let compresses = behavior.flag("Compress")? && encodes;
        let origin = behavior.needed("TargetOriginId")?;
        behavior.end()?;
        Ok(Self { pattern, origin, methods, times, encodes, compresses, passes_viewer, response_headers })
    }

    /// What nginx has to know before.
    pub(super) fn maps(&self, number: usize, errors: &ErrorTimes) -> String {
        self.times.maps(number, errors) + &self.response_headers.maps(number)
    }

    /// The part of nginx's configuration for these paths.
    pub(super) fn location(&self, number: usize, origin: &Origin, distribution: &str) -> Result<String> {
        let place = if self.pattern.is_empty() {
            "/".to_owned()
        } else {
            format!("~ \"{}\"", expression(&self.pattern)?)
        };
        let encodings = if self.encodes { "$encodings" } else { "" };
        let mut text = format!(
            "location {place} {{
                if ($request_method !~ \"^({methods})$\") {{ return 403; }}
                if ($looks_with_body) {{ return 403; }}
                proxy_connect_timeout {connect}s;
                proxy_read_timeout {read}s;
                proxy_cache edge;
                proxy_cache_convert_head off;
                proxy_cache_key \"$request_method $raw_path {encodings}\";
                proxy_ignore_headers Cache-Control Expires Set-Cookie Vary;
                add_header X-Cache $x_cache always;
                {response_headers}",
            methods = self.methods.join("|"),
            connect = origin.timeouts[0],
            read = origin.timeouts[1],
            response_headers = self.response_headers.in_location(number),
        );
        let mut send = |name: &str, value: &str| writeln!(text, "proxy_set_header {name} \"{value}\";");
        send("Connection", "")?;
        send("Host", &origin.host)?;
        send("Via", &format!("2.0 {distribution}.cloudfront.net (CloudFront)"))?;
        send("X-Amz-Cf-Id", "$request_id")?;
        send("X-Forwarded-For", "$proxy_add_x_forwarded_for")?;
        send("X-Edge-Behavior", &number.to_string())?;
        send("X-Testbed-Distribution", origin.signer.as_deref().unwrap_or_default())?;
        if origin.signer.is_some() {
            send("Authorization", "")?;
        }
        for (name, value) in &origin.headers {
            send(name, value)?;
        }
        if self.passes_viewer {
            send("Cookie", "$http_cookie")?;
        } else {
            send("User-Agent", "Amazon CloudFront")?;
        }
        if self.encodes || !self.passes_viewer {
            send("Accept-Encoding", encodings)?;
        }
        if self.passes_viewer && !self.times.keeps() {
            for (name, value) in CONDITIONS {
                send(name, value)?;
            }
        }
        if !self.passes_viewer {
            text += "proxy_pass_request_headers off;\n";
        }
        if self.times.keeps() {
            // Requests for one key wait for the first, for as long as that takes.
            text += "proxy_cache_lock on; proxy_cache_lock_timeout 60s; proxy_cache_lock_age 60s;
                proxy_cache_use_stale error timeout updating http_500 http_502 http_503 http_504;\n";
        }
        if self.compresses {
            text += "gzip on; gzip_proxied any; gzip_vary on; gzip_min_length 1000;
                gzip_types text/css text/javascript text/plain application/javascript application/json;\n";
        }
        let path = if self.passes_viewer { "$request_uri" } else { "$raw_path" };
        writeln!(text, "proxy_pass http://inner{}{path};\n}}", origin.path)?;
        Ok(text)
    }
}

/// How long a policy keeps answers, and whether by encoding.
fn cache_policy(id: &str, kept: &Value) -> Result<(Times, bool)> {
    match id {
        CACHING_DISABLED => return Ok((Times::NONE, false)),
        CACHING_OPTIMIZED => return Ok((Times { least: 1, usual: 86_400, most: 31_536_000 }, true)),
        _ => {}
    }
    let mut policy =
        Properties::new("a cache policy", &one_of(kept, "CachePolicies", id)?["CachePolicyConfig"])?;
    for name in ["Name", "Comment"] {
        policy.take(name);
    }
    let mut seconds =
        |name: &str| policy.number(name)?.with_context(|| format!("a cache policy has no {name}"));
    let times = Times { least: seconds("MinTTL")?, usual: seconds("DefaultTTL")?, most: seconds("MaxTTL")? };
    ensure!(
        times.least <= times.usual && times.usual <= times.most,
        "the times of the cache policy {id} contradict"
    );
    let key = policy.take("ParametersInCacheKeyAndForwardedToOrigin").context("a cache policy has no key")?;
    policy.end()?;
    let mut key = Properties::new("a cache policy's key", &key)?;
    for (part, behavior) in [
        ("HeadersConfig", "HeaderBehavior"),
        ("CookiesConfig", "CookieBehavior"),
        ("QueryStringsConfig", "QueryStringBehavior"),
    ] {
        let part = key.take(part).unwrap_or_default();
        ensure!(part[behavior] == "none", "the edge keeps no answers by {part}");
    }
    let gzip = key.flag("EnableAcceptEncodingGzip")?;
    ensure!(gzip == key.flag("EnableAcceptEncodingBrotli")?, "the edge tells gzip and br apart, or neither");
    key.end()?;
    Ok((times, gzip))
}

/// What a policy does to the headers of an answer.
#[derive(Default)]
struct ResponseHeaders {
    added: Vec<AddedHeader>,
    removed: Vec<String>,
}

struct AddedHeader {
    name: String,
    value: String,
    /// Whether in place of what the origin sends.
    overrides: bool,
}

impl AddedHeader {
    fn new(name: impl Into<String>, value: impl Into<String>, overrides: bool) -> Result<Self> {
        let (name, value) = (name.into(), value.into());
        quotable(&name)?;
        quotable(&value)?;
        Ok(Self { name, value, overrides })
    }
}

impl ResponseHeaders {
    fn secure() -> Result<Self> {
        let added = SECURE.map(|(name, value, overrides)| AddedHeader::new(name, value, overrides));
        Ok(Self { added: added.into_iter().collect::<Result<_>>()?, removed: vec![] })
    }

    fn read(policy: &Value) -> Result<Self> {
        let mut policy = Properties::new("a response headers policy", policy)?;
        for name in ["Name", "Comment"] {
            policy.take(name);
        }
        let mut headers = Self::default();
        if let Some(custom) = policy.take("CustomHeadersConfig") {
            let mut custom = Properties::new("a policy's custom headers", &custom)?;
            for item in &custom.list("Items")? {
                let mut item = Properties::new("a custom header", item)?;
                let (name, value) = (item.needed("Header")?, item.needed("Value")?);
                headers.added.push(AddedHeader::new(name, value, item.flag("Override")?)?);
                item.end()?;
            }
            custom.end()?;
        }
        if let Some(security) = policy.take("SecurityHeadersConfig") {
            headers.added.extend(security_headers(&security)?);
        }
        if let Some(removed) = policy.take("RemoveHeadersConfig") {
            for item in removed["Items"].as_array().into_iter().flatten() {
                let name = item["Header"].as_str().context("a header to be removed has no name")?;
                headers.removed.push(quotable(name)?.to_owned());
            }
        }
        policy.end()?;
        Ok(headers)
    }

    /// Nginx's words for those that an origin may send itself, outside of a location.
    fn maps(&self, number: usize) -> String {
        let mut text = String::new();
        for (index, AddedHeader { name, value, .. }) in self.unless_sent() {
            let sent = name.to_lowercase().replace('-', "_");
            // Writing to a `String` cannot fail.
            let _ = writeln!(
                text,
                "map $upstream_http_{sent} $missing_{number}_{index} {{ default ''; '' '{value}'; }}"
            );
        }
        text
    }

    fn unless_sent(&self) -> impl Iterator<Item = (usize, &AddedHeader)> {
        self.added.iter().enumerate().filter(|(_, header)| !header.overrides)
    }

    /// And inside.
    fn in_location(&self, number: usize) -> String {
        let mut text = String::new();
        for AddedHeader { name, value, .. } in self.added.iter().filter(|header| header.overrides) {
            let _ = writeln!(text, "proxy_hide_header \"{name}\"; add_header \"{name}\" \"{value}\" always;");
        }
        for (index, AddedHeader { name, .. }) in self.unless_sent() {
            let _ = writeln!(text, "add_header \"{name}\" $missing_{number}_{index} always;");
        }
        for name in &self.removed {
            let _ = writeln!(text, "proxy_hide_header \"{name}\";");
        }
        text
    }
}

fn security_headers(config: &Value) -> Result<Vec<AddedHeader>> {
    let mut config = Properties::new("a policy's security headers", config)?;
    let mut added = vec![];
    let mut add =
        |what: &'static str, header: &str, value: &dyn Fn(&mut Properties) -> Result<String>| -> Result<()> {
            let Some(part) = config.take(what) else { return Ok(()) };
            let mut part = Properties::new(what, &part)?;
            added.push(AddedHeader::new(header, value(&mut part)?, part.flag("Override")?)?);
            part.end()
        };
    add("ContentTypeOptions", "X-Content-Type-Options", &|_| Ok("nosniff".into()))?;
    add("FrameOptions", "X-Frame-Options", &|part| part.needed("FrameOption"))?;
    add("ReferrerPolicy", "Referrer-Policy", &|part| part.needed("ReferrerPolicy"))?;
    add("XSSProtection", "X-XSS-Protection", &|part| {
        let mode = if part.flag("ModeBlock")? { "; mode=block" } else { "" };
        Ok(format!("{}{mode}", u8::from(part.flag("Protection")?)))
    })?;
    add("StrictTransportSecurity", "Strict-Transport-Security", &|part| {
        let mut value = format!("max-age={}", part.number("AccessControlMaxAgeSec")?.unwrap_or_default());
        for (name, words) in [("IncludeSubdomains", "; includeSubDomains"), ("Preload", "; preload")] {
            if part.flag(name)? {
                value += words;
            }
        }
        Ok(value)
    })?;
    config.end()?;
    Ok(added)
}

/// A path pattern as a regular expression. `*` is anything, `?` one character.
fn expression(pattern: &str) -> Result<String> {
    let path = pattern.strip_prefix('/').unwrap_or(pattern);
    let mut text = String::from("(?s)^/");
    for character in path.chars() {
        match character {
            '*' => text.push_str(".*"),
            '?' => text.push('.'),
            '.' => text.push_str("[.]"),
            plain if plain.is_ascii_alphanumeric() || "-_/~".contains(plain) => text.push(plain),
            other => bail!("the edge does not know {other:?} in the path pattern {pattern:?}"),
        }
    }
    text.push('$');
    Ok(text)
}
