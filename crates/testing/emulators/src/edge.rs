//! A stand-in for `CloudFront`: a caching proxy that does what a distribution's properties say.
//!
//! Whatever it finds in them it translates, or it does not start. Two servers of nginx do the work. The outer one matches the
//! path, passes on what the policies allow, and keeps answers. The inner one asks the function URL, and decides how long its answer
//! is kept, because nginx itself knows neither a least time nor the rules for errors.
//!
//! Where nginx and AWS differ, visitors see at most what AWS might show them: a kept answer has the cookies that the origin set, and
//! the last one is shown while a new one is fetched.

mod behavior;
mod lifetime;
mod properties;
mod visitors;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use self::behavior::{Behavior, Origin};
use self::lifetime::ErrorTimes;
use self::properties::Properties;
pub use self::visitors::EdgeVisitors;
use crate::{LocalEmu, Nginx, certify, port, server};

/// What changes neither which requests reach the origin nor what becomes of its answers.
const WITHOUT_EFFECT: [&str; 7] =
    ["Aliases", "Comment", "HttpVersion", "IPV6Enabled", "PriceClass", "ViewerCertificate", "WebACLId"];

/// A distribution of a stack, answering on this machine.
#[derive(Debug)]
pub struct EdgeProxy {
    nginx: Nginx,
    host: String,
}

impl EdgeProxy {
    /// The distribution with this ID, as it is now. A later update of its stack needs another edge.
    pub fn of(aws: &LocalEmu, id: &str) -> Result<Self> {
        Self::before(&aws.distributions()?, id, aws.port())
    }

    /// One of these distributions, which are as [`LocalEmu::distributions`] returns them. Its origin answers at this port.
    pub fn before(kept: &Value, id: &str, origin: u16) -> Result<Self> {
        let folder = server::folder("edge")?;
        let [http, https, inner] = [port::free()?, port::free()?, port::free()?];
        ensure!(http != https && https != inner && http != inner, "drew a port twice; run the test again");
        let distribution = Distribution::read(kept, id)?;
        certify(&distribution.host, folder.path())?;
        let configuration = distribution.configuration(folder.path(), [http, https, inner, origin])?;
        let nginx = Nginx::start(folder, &configuration, [http, https])?;
        Ok(Self { nginx, host: distribution.host })
    }

    /// Where it answers by HTTP, as if it had been asked by HTTPS.
    pub fn base(&self) -> String {
        format!("http://127.0.0.1:{}", self.nginx.http_port())
    }

    pub fn http_port(&self) -> u16 {
        self.nginx.http_port()
    }

    /// Where it answers by HTTPS and HTTP/2, with [`EdgeProxy::certificate`] for [`EdgeProxy::host`].
    pub fn https_port(&self) -> u16 {
        self.nginx.https_port()
    }

    pub fn certificate(&self) -> PathBuf {
        self.nginx.folder().join("certificate.pem")
    }

    /// The distribution's first alias, or its own name.
    pub fn host(&self) -> &str {
        &self.host
    }
}

struct Distribution {
    id: String,
    host: String,
    origins: Vec<Origin>,
    /// The last one is for all other paths.
    behaviors: Vec<Behavior>,
    errors: ErrorTimes,
}

impl Distribution {
    fn read(kept: &Value, id: &str) -> Result<Self> {
        let all = kept["Distributions"].as_array().context("no list of distributions")?;
        let found =
            all.iter().find(|one| one["Id"] == id).with_context(|| format!("no distribution {id}"))?;
        let mut config = Properties::new("the distribution", &found["DistributionConfig"])?;
        let aliases = found["DistributionConfig"]["Aliases"][0].as_str();
        let host = aliases.or(found["DomainName"].as_str()).context("a distribution has a name")?.to_owned();
        for name in WITHOUT_EFFECT {
            config.take(name);
        }
        ensure!(config.flag("Enabled")?, "the distribution {id} is disabled");
        let arn = found["Arn"].as_str().context("a distribution has an ARN")?;
        let origins = config.list("Origins")?;
        let origins = origins.iter().map(|origin| Origin::read(origin, kept, arn)).collect::<Result<_>>()?;
        let mut behaviors = config.list("CacheBehaviors")?;
        behaviors.push(config.take("DefaultCacheBehavior").context("no default behavior")?);
        let behaviors = behaviors.iter().map(|one| Behavior::read(one, kept)).collect::<Result<_>>()?;
        let errors = ErrorTimes::read(&config.list("CustomErrorResponses")?)?;
        config.end()?;
        Ok(Self { id: id.to_owned(), host, origins, behaviors, errors })
    }

    fn configuration(&self, folder: &Path, ports: [u16; 4]) -> Result<String> {
        let [http, https, inner, origin] = ports;
        let at = |name: &str| folder.join(name).display().to_string();
        let mut text = format!(
            "user root;
            pid {pid};
            error_log {log} warn;
            worker_rlimit_nofile 65536;
            events {{ worker_connections 8192; }}
            http {{
                access_log off;
                underscores_in_headers on;
                large_client_header_buffers 4 32k;
                client_max_body_size 6m;
                proxy_cache_path {cache} keys_zone=edge:1m inactive=1d;
                upstream inner {{ server 127.0.0.1:{inner}; }}
                upstream origin {{ server 127.0.0.1:{origin}; }}
                map $request_uri $raw_path {{ \"~^(?<before_query>[^?]*)\" $before_query; }}
                map $request_method:$http_content_length $looks_with_body {{ default 0; \"~^GET:0*[1-9]\" 1; }}
                map $http_accept_encoding $encodings {{
                    default \"\"; \"~*br.*gzip|gzip.*br\" br,gzip; \"~*\\bbr\\b\" br; ~*gzip gzip;
                }}
                map $upstream_cache_status:$status $x_cache {{
                    default \"Miss from cloudfront\"; \"~^(HIT|STALE|UPDATING)\" \"Hit from cloudfront\";
                    \"~:[45]\" \"Error from cloudfront\";
                }}\n",
            pid = at("nginx.pid"),
            log = at("error.log"),
            cache = at("cache"),
        );
        for what in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
            writeln!(text, "{what}_temp_path {};", at(what))?;
        }
        text += lifetime::WORDS;
        text += "map $http_x_edge_behavior $lifetime { default 0;\n";
        for number in 0..self.behaviors.len() {
            writeln!(text, "{number} $lifetime_{number};")?;
        }
        text += "}\n";
        for (number, behavior) in self.behaviors.iter().enumerate() {
            text += &behavior.maps(number, &self.errors);
        }
        writeln!(
            text,
            "server {{
                listen 127.0.0.1:{inner} backlog=4096;
                location / {{
                    proxy_pass http://origin$request_uri;
                    proxy_http_version 1.1;
                    proxy_set_header Host $http_host;
                    proxy_set_header Connection \"\";
                    proxy_set_header X-Edge-Behavior \"\";
                    proxy_ignore_headers X-Accel-Expires X-Accel-Redirect X-Accel-Limit-Rate X-Accel-Buffering X-Accel-Charset;
                    proxy_pass_header Date;
                    proxy_pass_header Server;
                    add_header X-Accel-Expires $lifetime always;
                }}
            }}
            server {{
                listen 127.0.0.1:{http} backlog=4096;
                listen 127.0.0.1:{https} ssl http2;
                ssl_certificate {certificate};
                ssl_certificate_key {key};
                proxy_http_version 1.1;
                proxy_read_timeout 65s;
                proxy_pass_header Date;
                proxy_pass_header Server;",
            certificate = at("certificate.pem"),
            key = at("key.pem"),
        )?;
        for (number, behavior) in self.behaviors.iter().enumerate() {
            let Some(origin) = self.origins.iter().find(|origin| origin.id == behavior.origin) else {
                bail!("no origin {:?}", behavior.origin)
            };
            text += &behavior.location(number, origin, &self.id)?;
        }
        Ok(text + "}}\n")
    }
}
