//! The table of the settings, and the type that it defines.

use std::collections::BTreeMap;
use std::time::Duration;

use waitroom::{
    ActiveLimit, Epoch, Lifetimes, Mistakes, Mode, Oversubscription, Rate, Room, RoomId, Settings, Title,
    WebUrl,
};

use crate::ConfigValue::{Flag, Number, Text};
use crate::read::{EntryReader, ParameterReader};
use crate::{
    AccountId, AddressLimit, Architecture, CertificateArn, ChallengeAbove, ConfigValue, DomainName,
    EdgeSetting, EmailAddress, LogDays, PageFolder, Presence, ProfileName, Region, Setting, SettingRow,
    SettingValue, Whole, WindowSeconds,
};

/// The room's name: a parameter, but no entry of its file.
pub(crate) const ROOM: Setting<RoomId> =
    Setting::new("room", Presence::Required, Text("spring-sale"), Some("Room"), "");

pub type LifetimeMinutes = Whole<1, { 14 * 24 * 60 }>;

/// By how many percent more than the rate may be let in; 0 is none.
pub type MostSurplus = Whole<0, { Oversubscription::MAX.get() }>;

/// How many visitors may be in the shop at once; 0 is any number.
pub type MostActive = Whole<0, { ActiveLimit::MAX }>;

/// As [`ActiveLimit::LONGEST`] allows.
pub type SessionMinutes = Whole<1, { 12 * 60 }>;

/// Defines [`RoomConfig`] and [`SETTINGS`]. A row is:
///
/// ```text
/// /// The explanation that a new file shows.
/// key_in_the_file: Type = example => "ParameterOfTheStack";
/// ```
macro_rules! room_config {
    (
        required { $(
            #[doc = $required_doc:literal]
            $required:ident: $required_type:ty = $required_example:expr $(=> $required_parameter:literal)?;
        )+ }
        defaulted { $(
            #[doc = $defaulted_doc:literal]
            $defaulted:ident: $defaulted_type:ty = $defaulted_example:expr $(=> $defaulted_parameter:literal)?;
        )+ }
        optional { $(
            #[doc = $optional_doc:literal]
            $optional:ident: $optional_type:ty = $optional_example:expr $(=> $optional_parameter:literal)?;
        )+ }
        on_aws { $(
            #[doc = $on_aws_doc:literal]
            $on_aws:ident: $on_aws_type:ty = $on_aws_example:expr $(=> $on_aws_parameter:literal)?;
        )+ }
    ) => {
        /// The configuration of a room. A setting that is `None` has the default of the stack's template.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct RoomConfig {
            /// The room's name, which is also the name of its file.
            pub room: RoomId,
            $( #[doc = $required_doc] pub $required: $required_type, )+
            $( #[doc = $defaulted_doc] pub $defaulted: $defaulted_type, )+
            $( #[doc = $optional_doc] pub $optional: Option<$optional_type>, )+
            $( #[doc = $on_aws_doc] pub $on_aws: Option<$on_aws_type>, )+
        }

        /// The rows of the table, each with its type.
        #[derive(Debug)]
        pub struct SettingsTable {
            $( pub $required: Setting<$required_type>, )+
            $( pub $defaulted: Setting<$defaulted_type>, )+
            $( pub $optional: Setting<$optional_type>, )+
            $( pub $on_aws: Setting<$on_aws_type>, )+
        }

        pub const SETTINGS: &SettingsTable = &SettingsTable {
            $( $required: Setting::new(
                stringify!($required), Presence::Required, $required_example,
                parameter!($($required_parameter)?), $required_doc,
            ), )+
            $( $defaulted: Setting::new(
                stringify!($defaulted), Presence::Defaulted, $defaulted_example,
                parameter!($($defaulted_parameter)?), $defaulted_doc,
            ), )+
            $( $optional: Setting::new(
                stringify!($optional), Presence::Optional, $optional_example,
                parameter!($($optional_parameter)?), $optional_doc,
            ), )+
            $( $on_aws: Setting::new(
                stringify!($on_aws), Presence::OnAws, $on_aws_example,
                parameter!($($on_aws_parameter)?), $on_aws_doc,
            ), )+
        };

        /// The rows of the table, in the order of the file.
        pub const ROWS: &[SettingRow] = &[
            $( SETTINGS.$required.row, )+
            $( SETTINGS.$defaulted.row, )+
            $( SETTINGS.$optional.row, )+
            $( SETTINGS.$on_aws.row, )+
        ];

        impl RoomConfig {
            pub fn new(room: RoomId, $( $required: $required_type ),+) -> Self {
                Self {
                    room,
                    $( $required, )+
                    $( $defaulted: <$defaulted_type>::default(), )+
                    $( $optional: None, )+
                    $( $on_aws: None, )+
                }
            }

            /// Reads the entries of the room's file, and reports every mistake.
            pub fn from_entries<'a>(
                room: RoomId,
                entries: impl IntoIterator<Item = (&'a str, ConfigValue<'a>)>,
            ) -> Result<Self, Mistakes> {
                let mut reader = EntryReader::new(entries);
                $( let $required = reader.required(&SETTINGS.$required); )+
                $( let $defaulted = reader.optional(&SETTINGS.$defaulted).unwrap_or_default(); )+
                $( let $optional = reader.optional(&SETTINGS.$optional); )+
                $( let $on_aws = reader.optional(&SETTINGS.$on_aws); )+
                let mistakes = reader.finish(ROWS);
                match ($( $required, )+) {
                    ($( Some($required), )+) if mistakes.is_empty() => {
                        Self { room, $( $required, )+ $( $defaulted, )+ $( $optional, )+ $( $on_aws, )+ }
                            .consistent()
                    }
                    _ => Err(mistakes.into()),
                }
            }

            /// Reads the parameters that a stack passes on: what a room is, not what only AWS needs. `None` if a required one is
            /// missing or wrong; the reader has the mistakes.
            pub(crate) fn from_parameters<'a>(
                reader: &mut ParameterReader<impl Fn(&str) -> Option<&'a str>>,
            ) -> Option<Self> {
                let room = reader.required(&ROOM);
                $( let $required = reader.required(&SETTINGS.$required); )+
                $( let $defaulted = reader.optional(&SETTINGS.$defaulted); )+
                $( let $optional = reader.optional(&SETTINGS.$optional); )+
                Some(Self {
                    $( $defaulted: $defaulted.unwrap_or_default(), )+
                    $( $optional, )+
                    ..Self::new(room?, $( $required? ),+)
                })
            }

            /// Every setting with its value, in the order of [`ROWS`].
            pub fn entries(&self) -> Vec<(&'static SettingRow, Option<ConfigValue<'_>>)> {
                let values = [
                    $( Some(self.$required.to_value()), )+
                    $( Some(self.$defaulted.to_value()), )+
                    $( self.$optional.as_ref().map(SettingValue::to_value), )+
                    $( self.$on_aws.as_ref().map(SettingValue::to_value), )+
                ];
                ROWS.iter().zip(values).collect()
            }

            /// The parameters of the room's stack. One that is missing has the template's default.
            pub fn parameters(&self) -> BTreeMap<&'static str, String> {
                let values = [
                    $( SettingValue::to_parameter(Some(&self.$required)), )+
                    $( SettingValue::to_parameter(Some(&self.$defaulted)), )+
                    $( SettingValue::to_parameter(self.$optional.as_ref()), )+
                    $( SettingValue::to_parameter(self.$on_aws.as_ref()), )+
                ];
                let named = ROWS.iter().zip(values).filter_map(|(row, value)| Some((row.parameter?, value?)));
                named.chain([(ROOM.row.parameter_name(), self.room.to_string())]).collect()
            }
        }
    };
}

macro_rules! parameter {
    () => {
        None
    };
    ($name:literal) => {
        Some($name)
    };
}

room_config! {
    required {
        /// The name that visitors see.
        title: Title = Text("Seal's Spring Sale") => "Title";
        /// Where admitted visitors are sent.
        shop: WebUrl = Text("https://shop.example/sale") => "Shop";
        /// How many visitors may enter a minute at first. Later, use `beekeeper set-rate`.
        rate: Rate = Number(300) => "Rate";
    }
    defaulted {
        /// Lower the rate while the shop is slow or fails.
        throttle: bool = Flag(false) => "Throttling";
    }
    optional {
        /// The URL that the throttle measures, if not the shop's: a page that needs no pass, and answers one address twenty times in a row.
        health: WebUrl = Text("https://shop.example/up") => "Health";
        /// `line`, `overflow` (docs/overflow.md) or `observe` (docs/observe.md). Later, use `beekeeper mode`.
        mode: Mode = Text("line") => "Mode";
        /// Let in up to so many percent more, like 30, to make up for visitors who don't come: docs/no-shows.md. 0: none.
        oversubscribe_percent: MostSurplus = Number(0) => "OversubscribePercent";
        /// At most so many visitors in the shop at once, like 2000: docs/active-visitors.md. 0: any number.
        active_visitors: MostActive = Number(0) => "ActiveVisitors";
        /// With `active_visitors`: for how many minutes a visitor may do nothing in the shop.
        idle_minutes: SessionMinutes = Number(20) => "IdleMinutes";
        /// With `active_visitors`: how many minutes a visit lasts at most.
        session_minutes: SessionMinutes = Number(120) => "SessionMinutes";
        /// How long an admitted visitor can come back for a new pass.
        admission_minutes: LifetimeMinutes = Number(60) => "AdmissionMinutes";
        /// How long the shop accepts a pass.
        pass_minutes: LifetimeMinutes = Number(60) => "PassMinutes";
        /// A folder with your colour and logo, or with your own page: docs/page.md.
        page: PageFolder = Text("/home/you/branding") => "Page";
    }
    on_aws {
        /// The AWS region of the room. It cannot change while the room is deployed.
        region: Region = Text("eu-central-1");
        /// The profile of your AWS configuration to use for this room.
        aws_profile: ProfileName = Text("events");
        /// Set by the first deployment, and taken out by `destroy`. In between, commands refuse any other account.
        account: AccountId = Text("012345678901");
        /// The processor of the functions: `arm64` or `x86_64`. Unless you set it, the first of them that your `beekeeper` has functions for.
        architecture: Architecture = Text("arm64") => "Architecture";
        /// `yes` puts CloudFront in front, for crowds beyond 3,000 joins a second: docs/edge.md. `moving` while a domain moves there.
        edge: EdgeSetting = Text("no") => "Edge";
        /// A domain of your own. Needs `certificate`; with `edge`, `edge_certificate` instead; while it moves, both.
        domain: DomainName = Text("queue.shop.example") => "DomainName";
        /// The certificate for `domain`, in the room's region.
        certificate: CertificateArn =
            Text("arn:aws:acm:eu-central-1:012345678901:certificate/example") => "CertificateArn";
        /// The certificate for `domain` in us-east-1, where CloudFront looks.
        edge_certificate: CertificateArn =
            Text("arn:aws:acm:us-east-1:012345678901:certificate/example") => "EdgeCertificateArn";
        /// Who gets an e-mail when something is wrong: one address, or a mailing list, after a click on the link in the first one. Costs about 1.70 dollars a month.
        alarm_email: EmailAddress = Text("you@shop.example") => "AlarmEmail";
        /// For how many days logs are kept.
        log_days: LogDays = Number(14) => "LogDays";
        /// Log every request, for about 8 cents a million.
        access_log: bool = Flag(false) => "AccessLog";
        /// The most requests a second, perhaps of each route by itself. 0: as many as the account's limit allows.
        requests_per_second: Whole<0, 100_000> = Number(0) => "RequestsPerSecond";
        /// The most requests at once. Needs `requests_per_second`.
        request_burst: Whole<1, 100_000> = Number(5000) => "RequestBurst";
        /// The most requests to the door from one address in a window, like 1600: docs/abuse.md. 0: no limit.
        door_requests_per_address: AddressLimit = Number(0) => "DoorRequestsPerAddress";
        /// Challenge the browsers of an address above so many requests to the door, like 200. 0: all browsers. Left out: none.
        door_challenge_above: ChallengeAbove = Number(200) => "DoorChallengeAbove";
        /// The window in which requests to the door count, in seconds: 60, 120, 300 or 600.
        door_window_seconds: WindowSeconds = Number(300) => "DoorWindowSeconds";
        /// The most requests of any kind from one address in five minutes. Polls count too. 0: no limit.
        requests_per_address: AddressLimit = Number(0) => "RequestsPerAddress";
        /// Reads a second that the table is ready for. More than 12000 costs once, and stays: AWS lowers nothing.
        warm_reads: Whole<12_000, 1_000_000> = Number(12_000) => "WarmReads";
        /// Writes a second that the table is ready for. More than 4000 costs once, and stays: AWS lowers nothing.
        warm_writes: Whole<4_000, 1_000_000> = Number(4_000) => "WarmWrites";
    }
}

impl RoomConfig {
    /// The settings of a new room, as its functions use them.
    pub fn settings(&self) -> Settings {
        let Self { room, title, shop, rate, health, mode, admission_minutes, pass_minutes, .. } = self;
        let duration = |minutes: LifetimeMinutes| Duration::from_secs(60 * u64::from(minutes.get()));
        let usual = Settings::new(room.clone(), title.clone(), shop.clone(), *rate);
        let lifetimes = Lifetimes {
            admission: admission_minutes.map_or(usual.lifetimes.admission, duration),
            pass: pass_minutes.map_or(usual.lifetimes.pass, duration),
        };
        let (oversubscribe, active) = (self.oversubscription(), self.active_limit());
        let (health, mode) = (health.clone(), mode.unwrap_or_default());
        let edge = self.edge().answers();
        Settings { health, mode, oversubscribe, active, edge, lifetimes, ..usual }
    }

    pub fn edge(&self) -> EdgeSetting {
        self.edge.unwrap_or_default()
    }

    /// The settings that make a firewall refuse or challenge an address.
    pub fn address_limits(&self) -> Vec<&'static str> {
        let limits = [
            (
                "door_requests_per_address",
                self.door_requests_per_address.is_some_and(AddressLimit::is_limited),
            ),
            ("requests_per_address", self.requests_per_address.is_some_and(AddressLimit::is_limited)),
            // 0 challenges every browser.
            ("door_challenge_above", self.door_challenge_above.is_some()),
        ];
        limits.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect()
    }

    /// Whether a firewall is in front of the edge.
    pub fn has_edge_firewall(&self) -> bool {
        self.edge().answers() && !self.address_limits().is_empty()
    }

    /// By how much more than the rate it may let in. 0 percent is none at all.
    pub fn oversubscription(&self) -> Option<Oversubscription> {
        self.oversubscribe_percent.and_then(|most| Oversubscription::new(most.get()).ok())
    }

    /// How many a minute it lets in at most at this rate: more, while some don't come.
    pub fn most_at(&self, rate: Rate) -> Rate {
        self.oversubscription().map_or(rate, |most| most.above(rate))
    }

    /// How many may be in the shop at once. 0 is any number.
    pub fn active_limit(&self) -> Option<ActiveLimit> {
        let visitors = self.active_visitors.map(Whole::get).filter(|visitors| *visitors > 0)?;
        let duration = |minutes: SessionMinutes| Duration::from_secs(60 * u64::from(minutes.get()));
        Some(ActiveLimit {
            visitors,
            idle: self.idle_minutes.map_or(ActiveLimit::DEFAULT_IDLE, duration),
            session: self.session_minutes.map_or(ActiveLimit::DEFAULT_SESSION, duration),
        })
    }

    /// The room as it would be, to look at its shop before it is deployed. Of its URL, only a domain of its own is known then.
    /// Without one, it has a URL that no shop redirects to. `None` if the domain cannot be in a URL.
    pub fn undeployed_room(&self) -> Option<Room> {
        let domain = self.domain.as_ref().map_or("waiting-room.invalid", DomainName::as_str);
        let url = format!("https://{domain}").parse().ok()?;
        let epoch: Epoch = "none".parse().ok()?;
        Some(Room::new(self.settings(), url, epoch))
    }

    /// Whether the room would be at the shop's own name. Then one of them isn't reached.
    fn is_at_shop(&self) -> bool {
        let domain = self.domain.as_ref().map(DomainName::as_str);
        domain.is_some() && self.shop.as_url().host_str() == domain
    }

    /// What contradicts a limit of active visitors.
    fn mistake_about_active(&self) -> Option<String> {
        let Some(limit) = self.active_limit() else {
            let of = [("idle_minutes", self.idle_minutes), ("session_minutes", self.session_minutes)];
            let alone =
                of.into_iter().find(|(_, minutes)| minutes.is_some() && self.active_visitors.is_none());
            return alone.map(|(name, _)| {
                format!("{name}: needs active_visitors; without it, the guard's own flags say how long sessions last")
            });
        };
        let mode = self.mode.unwrap_or_default();
        if mode != Mode::Line {
            return Some(format!(
                "active_visitors: needs mode = \"line\", because visitors are counted as they leave the line; leave out mode = \"{mode}\" or the limit"
            ));
        }
        if limit.idle > limit.session {
            return Some(
                "idle_minutes: is longer than session_minutes, after which a visit ends in any case".into(),
            );
        }
        let too_long = self.settings().lifetimes.admission > ActiveLimit::LONGEST;
        too_long.then(|| {
            "admission_minutes: is at most 720 with active_visitors, because whoever doesn't come counts as long".into()
        })
    }

    /// What contradicts the room's domain, and the certificates for it.
    fn mistake_about_domain(&self) -> Option<String> {
        const EDGE_REGION: &str = EdgeSetting::REGION;
        Some(match (&self.domain, self.edge()) {
            (None, _) if self.certificate.is_some() => "certificate: needs domain; set both or none".into(),
            (None, _) if self.edge_certificate.is_some() => {
                "edge_certificate: needs domain; set both or none".into()
            }
            (None, EdgeSetting::Moving) => {
                "edge: \"moving\" needs domain, or visitors' links would change under them".into()
            }
            (Some(_), EdgeSetting::No | EdgeSetting::Moving) if self.certificate.is_none() => {
                "domain: needs certificate; set both or none".into()
            }
            (Some(_), EdgeSetting::Moving | EdgeSetting::Yes) if self.edge_certificate.is_none() => {
                format!("edge: needs edge_certificate, a certificate for domain in {EDGE_REGION}")
            }
            (Some(domain), _) if self.is_at_shop() => {
                format!("domain: is the shop's own name; give the room another, like queue.{domain}")
            }
            _ if self.edge_certificate.as_ref().is_some_and(|of| of.region() != EDGE_REGION) => {
                format!("edge_certificate: must be in {EDGE_REGION}, where CloudFront looks")
            }
            _ => return None,
        })
    }

    /// What doesn't go with the room's edge.
    fn mistake_about_edge(&self) -> Option<String> {
        let edge = self.edge();
        let of_api = [
            ("access_log", self.access_log == Some(true)),
            ("requests_per_second", self.requests_per_second.is_some_and(|most| most.get() > 0)),
        ];
        if let Some((name, _)) = of_api.iter().find(|(_, is_set)| *is_set && !edge.has_api()) {
            return Some(format!(
                "{name}: is of the API, and with edge = \"yes\" there is none; leave out one of them"
            ));
        }
        let region =
            self.region.as_ref().filter(|region| edge.answers() && !EdgeSetting::is_in(region.as_str()))?;
        Some(format!(
            "edge: Lambda gives functions no URL in {region}; choose another region, or leave out edge"
        ))
    }

    /// Whether API Gateway would look for the certificate elsewhere.
    fn mistake_about_region(&self) -> Option<String> {
        let (region, certificate) = (self.region.as_ref()?, self.certificate.as_ref()?);
        let elsewhere = certificate.region();
        (elsewhere != region.as_str())
            .then(|| format!("certificate: is in {elsewhere}; request one in {region}, where the room is"))
    }

    /// Checks the settings that depend on each other.
    pub fn consistent(self) -> Result<Self, Mistakes> {
        let mistake = self.mistake_about_active().or_else(|| self.mistake_about_domain());
        match mistake.or_else(|| self.mistake_about_edge()).or_else(|| self.mistake_about_region()) {
            Some(mistake) => Err(vec![mistake].into()),
            None => Ok(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::SetupProperties;

    const SMALLEST: [(&str, ConfigValue<'static>); 3] = [
        ("title", Text("Seal's Spring Sale")),
        ("shop", Text("https://shop.example/sale")),
        ("rate", Number(300)),
    ];

    fn read<'a>(
        entries: impl IntoIterator<Item = (&'a str, ConfigValue<'a>)>,
    ) -> Result<RoomConfig, Mistakes> {
        RoomConfig::from_entries("sale".parse().unwrap(), entries)
    }

    /// Every setting as a new file shows it.
    fn examples<'a>() -> impl Iterator<Item = (&'a str, ConfigValue<'a>)> {
        ROWS.iter().map(|row| (row.key, row.example))
    }

    #[test]
    fn a_room_that_is_not_deployed_has_its_own_domain_or_none() {
        let mut config = read(SMALLEST).unwrap();
        assert_eq!(config.undeployed_room().unwrap().issuer(), "https://waiting-room.invalid");
        config.domain = Some("queue.shop.example".parse().unwrap());
        assert_eq!(config.undeployed_room().unwrap().issuer(), "https://queue.shop.example");
    }

    #[test]
    fn three_entries_make_a_room() {
        let config = read(SMALLEST).unwrap();
        let by_hand = RoomConfig::new(
            "sale".parse().unwrap(),
            "Seal's Spring Sale".parse().unwrap(),
            "https://shop.example/sale".parse().unwrap(),
            Rate::new(300).unwrap(),
        );
        assert_eq!(config, by_hand);
        let set: Vec<_> = config.entries().iter().filter_map(|(row, value)| value.map(|_| row.key)).collect();
        assert_eq!(set, ["title", "shop", "rate", "throttle"]);
    }

    #[test]
    fn every_example_is_valid_and_written_as_it_was_read() {
        let config = read(examples()).unwrap();
        let written: Vec<_> =
            config.entries().into_iter().map(|(row, value)| (row.key, value.unwrap())).collect();
        assert_eq!(written, examples().collect::<Vec<_>>());
        assert_eq!(read(written), Ok(config));
    }

    #[test]
    fn every_mistake_is_reported_at_once() {
        let mistakes = read([
            ("title", Text("")),
            ("region", Text("Frankfurt")),
            ("rate", Text("many")),
            ("throttle", Text("yes")),
            ("admission_minutes", Number(0)),
            ("account", Number(42)),
            ("architecture", Text("arm")),
            ("domain", Text("Queue")),
            ("certificate", Text("mine")),
            ("alarm_email", Text("anna@shop.example,bo@shop.example")),
            ("log_days", Number(2)),
            ("requests_per_address", Number(5)),
            ("door_challenge_above", Number(9)),
            ("door_window_seconds", Number(90)),
            ("warm_reads", Number(11_999)),
            ("pass_minutes", ConfigValue::Other),
            ("colour", Text("red")),
            ("warm_write", Number(5000)),
        ]);
        assert_eq!(
            mistakes.unwrap_err().iter().collect::<Vec<_>>(),
            [
                "title: a title is 1 to 100 characters on one line",
                "shop: is missing",
                "rate: a rate is a whole number of visitors a minute, from 1 to 270000",
                "throttle: must be true or false, without quotation marks",
                "admission_minutes: must be a whole number from 1 to 20160",
                "pass_minutes: must be a whole number from 1 to 20160",
                "region: must be written like eu-central-1",
                "account: must be a text in quotation marks",
                "architecture: must be \"arm64\" or \"x86_64\"",
                "domain: must be a domain name in lower case, like queue.shop.example",
                "certificate: must be the ARN of a certificate, like arn:aws:acm:eu-central-1:012345678901:certificate/example",
                "alarm_email: must be one e-mail address; for several people, use a mailing list",
                "log_days: must be one of 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365",
                "door_challenge_above: must be 0, or a whole number from 10 to 999999999",
                "door_window_seconds: must be one of 60, 120, 300, 600",
                "requests_per_address: must be 0, or a whole number from 10 to 999999999",
                "warm_reads: must be a whole number from 12000 to 1000000",
                "colour: is not a setting; remove the line, or correct the name",
                "warm_write: is not a setting; did you mean warm_writes?",
            ]
        );
        for (one, other) in [("domain", "certificate"), ("certificate", "domain")] {
            let alone = read(examples().filter(|(key, _)| *key != other)).unwrap_err();
            assert_eq!(alone.to_string(), format!("{one}: needs {other}; set both or none"));
        }
        let in_place_of_shop = ("domain", Text("shop.example"));
        let in_place_of_shop = read(examples().filter(|(key, _)| *key != "domain").chain([in_place_of_shop]));
        assert_eq!(
            in_place_of_shop.unwrap_err().to_string(),
            "domain: is the shop's own name; give the room another, like queue.shop.example"
        );
        let elsewhere = ("certificate", Text("arn:aws:acm:us-east-1:012345678901:certificate/example"));
        let elsewhere = read(examples().filter(|(key, _)| *key != "certificate").chain([elsewhere]));
        assert_eq!(
            elsewhere.unwrap_err().to_string(),
            "certificate: is in us-east-1; request one in eu-central-1, where the room is"
        );
    }

    #[test]
    fn an_edge_says_what_does_not_go_with_it() {
        let domain = ("domain", Text("queue.shop.example"));
        let here = ("certificate", Text("arn:aws:acm:eu-central-1:012345678901:certificate/example"));
        let at_edge = ("edge_certificate", Text("arn:aws:acm:us-east-1:012345678901:certificate/example"));
        let region = ("region", Text("eu-central-1"));
        let (yes, moving) = (("edge", Text("yes")), ("edge", Text("moving")));
        for sound in [&[yes][..], &[yes, domain, at_edge, region], &[moving, domain, here, at_edge]] {
            let config = read(SMALLEST.into_iter().chain(sound.iter().copied())).unwrap();
            assert!(config.settings().edge, "{sound:?}");
        }
        assert!(!read(SMALLEST).unwrap().settings().edge);
        let elsewhere = ("edge_certificate", here.1);
        for (wrong, expected) in [
            (&[("edge", Text("true"))][..], "edge: must be \"no\", \"moving\" or \"yes\""),
            (&[moving], "edge: \"moving\" needs domain"),
            (&[at_edge], "edge_certificate: needs domain"),
            (&[yes, domain], "edge: needs edge_certificate"),
            (&[moving, domain, at_edge], "domain: needs certificate"),
            (&[yes, domain, elsewhere], "edge_certificate: must be in us-east-1"),
            (&[yes, ("access_log", Flag(true))], "access_log: is of the API"),
            (&[yes, ("requests_per_second", Number(100))], "requests_per_second: is of the API"),
            (&[yes, ("region", Text("eu-central-2"))], "edge: Lambda gives functions no URL in eu-central-2"),
        ] {
            let refused = read(SMALLEST.into_iter().chain(wrong.iter().copied())).unwrap_err().to_string();
            assert!(refused.starts_with(expected), "{refused}");
        }
    }

    #[test]
    fn what_limits_or_challenges_one_address_is_named() {
        let limits = |more: &[(&'static str, ConfigValue<'static>)]| {
            read(SMALLEST.into_iter().chain(more.iter().copied())).unwrap().address_limits()
        };
        let (requests, door) = ("requests_per_address", "door_requests_per_address");
        assert!(limits(&[]).is_empty());
        assert!(limits(&[(requests, Number(0)), (door, Number(0))]).is_empty());
        assert_eq!(limits(&[(requests, Number(5000))]), [requests]);
        let challenge = "door_challenge_above";
        assert_eq!(limits(&[(door, Number(5000)), (challenge, Number(0))]), [door, challenge]);
    }

    #[test]
    fn a_setting_that_is_not_set_is_left_to_the_template() {
        let parameters = read(SMALLEST).unwrap().parameters();
        let expected = [
            ("Page", "built-in"),
            ("Rate", "300"),
            ("Room", "sale"),
            ("Shop", "https://shop.example/sale"),
            ("Throttling", "no"),
            ("Title", "Seal's Spring Sale"),
        ];
        assert_eq!(parameters, expected.map(|(name, value)| (name, value.to_owned())).into());
    }

    #[test]
    fn the_setup_reads_the_room_that_was_configured() {
        let config = read(examples()).unwrap();
        let mut parameters = config.parameters();
        parameters.insert("Url", "https://queue.shop.example".into());
        let properties = SetupProperties::read(|name| parameters.get(name).map(String::as_str)).unwrap();
        assert_eq!(properties.config.settings(), config.settings());
        assert_eq!(properties.config.settings().lifetimes.admission, Duration::from_hours(1));
        assert!(properties.config.page.is_some() && !properties.config.throttle);
    }

    proptest! {
        #[test]
        fn any_value_is_refused_by_its_name_or_written_as_it_was_read(
            at in 0..ROWS.len(), text in ".{0,40}", number: i64, kind in 0..4u8,
        ) {
            let value = match kind {
                0 => Text(&text),
                1 => Number(number),
                2 => Number(number % 100_000),
                _ => Flag(number > 0),
            };
            let key = ROWS[at].key;
            let others = examples().filter(|(other, _)| *other != key);
            match read(others.chain([(key, value)])) {
                Ok(config) => prop_assert!(config.entries()[at].1.is_some()),
                Err(mistakes) => {
                    let named = format!("{key}: ");
                    prop_assert!(mistakes.iter().all(|mistake| mistake.starts_with(&named)), "{}", mistakes);
                }
            }
        }
    }
}
