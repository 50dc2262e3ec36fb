//! The plan of a deployment, for a person.

use aws_model::{AccountLimit, Bound, Outlook, ReservationTooLarge};
use document::Document;
use document::words::{about, count, time};

use crate::deploy_plan::{DeployAction, DeployPlan};
use crate::limits::LimitReading;
use crate::reservation::ReservationPlan;

impl DeployPlan {
    /// What to ask before it is carried out.
    pub fn question(&self) -> &'static str {
        match self.action {
            DeployAction::Create => "Create this room?",
            DeployAction::Update => "Update this room?",
            DeployAction::Replace { .. } => "Remove the old stack and create this room?",
            DeployAction::Resume { .. } => "Continue with this room?",
        }
    }

    /// For a person: what will be done, and what each number comes from.
    pub fn document(&self) -> Document {
        let limits = self.limits.iter().map(limit).chain(unread(&self.limits)).collect();
        let parts = [
            ("changes", self.settings.iter().map(ToString::to_string).collect()),
            ("resources", vec![resources(self)]),
            ("limits", limits),
            ("reserved", vec![reserved(self)]),
            ("edge", edge(self).into_iter().collect()),
            ("capacity", capacity(self)),
            ("shop", vec![shop(self)]),
            ("costs", costs(self)),
            ("expected", expected(self)),
        ];
        let warnings = self.warnings.iter();
        let warnings =
            warnings.map(|warning| ("warning", vec![warning.text.clone(), warning.advice.clone()]));
        let facts = parts.into_iter().chain(warnings).filter(|(_, lines)| !lines.is_empty());
        let place = format!("In {}, account {} as {}", self.region, self.account, self.caller);
        Document {
            title: format!("Deployment plan of {}", self.room),
            summary: vec![place, self.action.told()],
            facts: facts.map(|(name, lines)| (name, lines.join("\n"))).collect(),
            sections: Vec::new(),
        }
    }
}

impl DeployAction {
    fn told(&self) -> String {
        match self {
            Self::Create => "A new stack".into(),
            Self::Update => "An update of the stack; the line, its epoch and the keys stay".into(),
            Self::Replace { status } => {
                format!(
                    "A new stack; the remains of an earlier one ({status}) are removed first, with their line"
                )
            }
            Self::Resume { status } => format!("The stack of an earlier run, which is {status}"),
        }
    }
}

fn resources(plan: &DeployPlan) -> String {
    let all: usize = plan.resources.values().sum();
    // `AWS::SQS::Queue` is shortened to `SQS::Queue`.
    let short = |kind: &str| kind.strip_prefix("AWS::").unwrap_or(kind).to_owned();
    let kinds = plan.resources.iter().map(|(kind, count)| format!("{count} {}", short(kind)));
    format!("{all}: {}", kinds.collect::<Vec<_>>().join(", "))
}

fn limit(reading: &LimitReading) -> String {
    let LimitReading { name, value, taken, .. } = reading;
    match value {
        None => format!("{name}: {taken}, AWS's default here; this account's could not be read"),
        Some(value) if reading.is_doubted() => {
            format!(
                "{name}: {taken}, AWS's default here. Service Quotas says {value}; `aws apigateway get-account` knows"
            )
        }
        Some(value) => format!("{name}: {value}"),
    }
}

/// Why limits could not be read. All fail for the same reason.
fn unread(limits: &[LimitReading]) -> Option<String> {
    limits.iter().find_map(|reading| reading.error.as_ref()).map(|error| format!("not read: {error}"))
}

/// What visitors at the door cannot take from releasing.
fn reserved(plan: &DeployPlan) -> String {
    match &plan.reserved {
        ReservationPlan::Reserves(reservation) => format!(
            "{} consumers and {} triggers{} run however busy the door is: enough for a rate of up to {}",
            reservation.consumers,
            reservation.triggers,
            if reservation.throttles > 0 { ", and the throttle," } else { "" },
            count(reservation.largest_rate().into())
        ),
        ReservationPlan::TooLarge(ReservationTooLarge { needed, unreserved, kept }) => format!(
            "nothing: {needed} functions are needed, and AWS wants {kept} left of the {unreserved} that are not reserved. So a \
             rush at the door may delay releasing; {}",
            AccountLimit::advice_for_few_functions()
        ),
        ReservationPlan::Unread { before, error } if before.consumers == 0 => format!("nothing: {error}"),
        ReservationPlan::Unread { before, error } => {
            format!("{} consumers as before: {error}", before.consumers)
        }
    }
}

/// What `CloudFront` takes from API Gateway, and what from Lambda.
fn edge(plan: &DeployPlan) -> Option<String> {
    let shared = plan.costs.polls_answered_by_edge?;
    Some(format!(
        "CloudFront answers the page and {shared} of {} polls; the others need functions, which count for the capacity instead of API \
         Gateway's requests",
        plan.costs.polls_per_visitor
    ))
}

fn capacity(plan: &DeployPlan) -> Vec<String> {
    let capacity = &plan.capacity;
    let bound = |bound: Bound, what: &str| {
        format!("about {} {what} (the limit is {})", about(bound.most), bound.limit.name())
    };
    let joins = format!("people can join a second, while {} wait", count(capacity.crowd));
    let minutes = plan.costs.wait_minutes;
    vec![
        bound(capacity.joins_per_second, &joins),
        bound(capacity.waiting, "people can wait"),
        bound(capacity.kept_up, &format!("people a minute can come, wait {minutes} minutes and be let in")),
    ]
}

fn shop(plan: &DeployPlan) -> String {
    let shop = &plan.shop;
    match shop.mean {
        Some(mean) => {
            format!("{}: {:.0} ms on average, {} of 20 failed", shop.url, mean * 1000.0, shop.failed)
        }
        None if shop.refused > shop.failed => {
            format!("{}: protected as recommended, it refuses visitors without a pass", shop.url)
        }
        None => format!(
            "{}: {} of {} requests failed",
            shop.url,
            shop.failed,
            shop.failed + shop.answered + shop.refused
        ),
    }
}

fn costs(plan: &DeployPlan) -> Vec<String> {
    let costs = &plan.costs;
    let options: Vec<_> =
        costs.options.iter().map(|option| format!("{} ${:.2}", option.name, option.dollars)).collect();
    let on_top = if options.is_empty() { String::new() } else { format!("; on top: {}", options.join(", ")) };
    let mut lines = vec![
        format!("about ${:.2} a month while nobody comes, on or off{on_top}", costs.idle_month),
        format!(
            "${:.2} to ${:.2} for 100,000 visitors who wait {} minutes and poll {} times each: the more if a fifth \
             reload and a fifth open a second tab",
            costs.per_100_000, costs.per_100_000_with_reloads, costs.wait_minutes, costs.polls_per_visitor
        ),
    ];
    if let Some(after) = costs.per_100_000_after_free_tier {
        lines.push(format!(
            "${after:.2} for them with CloudFront's free tier of a month, if the account uses it for nothing else"
        ));
    }
    if let Some(straight) = costs.per_100_000_straight {
        lines.push(format!("${straight:.2} for 100,000 visitors who go straight in, while nobody waits"));
    }
    if costs.warm_once > 0.0 {
        lines.push(format!(
            "about ${:.2} once, for warm_reads and warm_writes; look at AWS's price, which we could not confirm",
            costs.warm_once
        ));
    }
    lines.push(format!(
        "estimated from list prices of us-east-1 of {}, without free tier and tax",
        costs.prices_of
    ));
    lines
}

fn expected(plan: &DeployPlan) -> Vec<String> {
    let Some(outlook) = &plan.outlook else { return Vec::new() };
    let people = count(outlook.visitors);
    let joined = match outlook.joined_after {
        Some(seconds) => format!(
            "if they come at once, all have joined after {} at least{}",
            time(seconds),
            refused(outlook)
        ),
        None => "not all of them can join".to_owned(),
    };
    let wait = time(outlook.last_waits_minutes * 60);
    vec![
        format!("{people} people: {joined}"),
        format!(
            "the last one waits {wait}, and all of them cost ${:.2} to ${:.2}",
            outlook.dollars, outlook.dollars_with_reloads
        ),
    ]
}

/// That a crowd which comes in one instant is more than API Gateway takes at the same moment.
fn refused(outlook: &Outlook) -> String {
    match outlook.refused_at_first {
        0 => String::new(),
        refused => format!("; up to {} are refused at first, and try again by themselves", about(refused)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use aws_model::{Capacity, CostLine, Limit, Reservation};
    use config::Architecture;

    use super::*;
    use crate::{Costs, PlanWarning, SettingChange, ShopCheck};

    fn reading(limit: AccountLimit, value: Option<f64>, taken: f64) -> LimitReading {
        let error =
            value.is_none().then(|| "you need the permission servicequotas:GetServiceQuota".to_owned());
        LimitReading { limit, name: limit.name(), value, error, taken }
    }

    fn plan() -> DeployPlan {
        let bound = |most, limit| Bound { most, limit };
        let capacity = Capacity {
            joins_per_second: bound(3111, Limit::ApiRequests),
            crowd: 150_000,
            waiting: bound(2_689_431, Limit::ApiRequests),
            kept_up: bound(42_857, Limit::ApiRequests),
            released: bound(90_000, Limit::ApiRequests),
        };
        let costs = Costs {
            idle_month: 0.81,
            off_month: 0.81,
            options: vec![
                CostLine { name: "alarms", dollars: 1.2 },
                CostLine { name: "firewall", dollars: 6.0 },
            ],
            warm_once: 32.5,
            per_100_000: 5.63,
            per_100_000_with_reloads: 6.9,
            per_100_000_after_free_tier: None,
            per_100_000_straight: Some(0.93),
            wait_minutes: 10,
            polls_per_visitor: 11,
            polls_answered_by_edge: None,
            parts: vec![("API Gateway", 4.9)],
            prices_of: "2026-11-22",
        };
        let outlook = Outlook {
            visitors: 150_000,
            joins_per_second: capacity.joins_per_second,
            joined_after: Some(49),
            refused_at_first: 145_000,
            waiting: capacity.waiting,
            last_waits_minutes: 500,
            dollars: 16.9,
            dollars_with_reloads: 20.7,
            dollars_after_free_tier: None,
        };
        DeployPlan {
            room: "sale".into(),
            account: "123456789012".into(),
            caller: "arn:aws:iam::123456789012:user/anna".into(),
            region: "ap-southeast-3".into(),
            architecture: Architecture::Arm64,
            action: DeployAction::Create,
            settings: Vec::new(),
            resources: BTreeMap::from([("AWS::SQS::Queue".into(), 2), ("AWS::S3::Bucket".into(), 1)]),
            limits: vec![
                reading(AccountLimit::Concurrency, Some(1000.0), 1000.0),
                reading(AccountLimit::ApiRequests, Some(10_000.0), 2500.0),
                reading(AccountLimit::TableReads, None, 40_000.0),
            ],
            reserved: ReservationPlan::Reserves(Reservation::of_consumers(10)),
            capacity,
            shop: ShopCheck {
                url: "https://shop.example/".into(),
                mean: Some(0.098),
                answered: 20,
                failed: 0,
                refused: 0,
            },
            costs,
            outlook: Some(outlook),
            warnings: vec![PlanWarning { text: "it is late".into(), advice: "go to bed".into() }],
        }
    }

    #[test]
    fn a_plan_says_what_each_number_comes_from() {
        let text = plan().document().text(80);
        let expected = "\
Deployment plan of sale
In ap-southeast-3, account 123456789012 as arn:aws:iam::123456789012:user/anna
A new stack

resources  3: 1 S3::Bucket, 2 SQS::Queue
limits     Lambda: concurrent executions: 1000
           API Gateway: requests per second: 2500, AWS's default here. Service Quotas says 10000; `aws apigateway get-account` knows
           DynamoDB: reads per second of a table: 40000, AWS's default here; this account's could not be read
           not read: you need the permission servicequotas:GetServiceQuota
reserved   10 consumers and 2 triggers run however busy the door is: enough for a rate of up to 5,000
capacity   about 3,110 people can join a second, while 150,000 wait (the limit is API Gateway's requests a second)
           about 2,680,000 people can wait (the limit is API Gateway's requests a second)
           about 42,800 people a minute can come, wait 10 minutes and be let in (the limit is API Gateway's requests a second)
shop       https://shop.example/: 98 ms on average, 0 of 20 failed
costs      about $0.81 a month while nobody comes, on or off; on top: alarms $1.20, firewall $6.00
           $5.63 to $6.90 for 100,000 visitors who wait 10 minutes and poll 11 times each: the more if a fifth reload and a fifth open a second tab
           $0.93 for 100,000 visitors who go straight in, while nobody waits
           about $32.50 once, for warm_reads and warm_writes; look at AWS's price, which we could not confirm
           estimated from list prices of us-east-1 of 2026-11-22, without free tier and tax
expected   150,000 people: if they come at once, all have joined after 49 s at least; up to 145,000 are refused at first, and try again by themselves
           the last one waits 8 h 20 min, and all of them cost $16.90 to $20.70
warning    it is late
           go to bed";
        assert_eq!(text, expected);
    }

    #[test]
    fn whoever_updates_a_room_reads_which_settings_change() {
        let changed =
            |setting, before: &str| SettingChange { setting, before: Some(before.into()), after: None };
        let settings = vec![changed("active_visitors", "500"), changed("door_requests_per_address", "5000")];
        let update = DeployPlan { action: DeployAction::Update, settings, ..plan() };
        let told = "\n\nchanges    active_visitors: 500 -> none\n           door_requests_per_address: 5000 -> none\nresources ";
        let text = update.document().text(80);
        assert!(text.contains(told), "{text}");
        let json = serde_json::to_value(&update).unwrap();
        let first = serde_json::json!({ "setting": "active_visitors", "before": "500", "after": null });
        assert_eq!(json["settings"][0], first);
    }

    #[test]
    fn a_plan_says_that_the_throttle_runs_too() {
        let reserved = ReservationPlan::Reserves(Reservation::of_consumers(10).with_throttle(true));
        let text = super::reserved(&DeployPlan { reserved, ..plan() });
        assert!(
            text.starts_with("10 consumers and 2 triggers, and the throttle, run however busy"),
            "{text}"
        );
    }

    #[test]
    fn a_plan_says_why_nothing_is_reserved() {
        let text = |reserved| super::reserved(&DeployPlan { reserved, ..plan() });
        let too_large = ReservationTooLarge { needed: 12, unreserved: 10, kept: 100 };
        assert_eq!(
            text(ReservationPlan::TooLarge(too_large)),
            "nothing: 12 functions are needed, and AWS wants 100 left of the 10 that are not reserved. So a rush at the door \
             may delay releasing; ask AWS for 1,000 or more, which is free: Service Quotas, AWS Lambda, Concurrent \
             executions (L-B99A9384)"
        );
        let unread = |consumers| {
            let error = "could not read the room: slow down".to_owned();
            text(ReservationPlan::Unread { before: Reservation::of_consumers(consumers), error })
        };
        assert_eq!(unread(0), "nothing: could not read the room: slow down");
        assert_eq!(unread(12), "12 consumers as before: could not read the room: slow down");
    }

    /// A command, a name and an address are not cut, however long they are.
    #[test]
    fn a_plan_fits_a_narrow_terminal_and_breaks_no_word() {
        const COLUMNS: u16 = 60;
        let text = plan().document().text(COLUMNS);
        let shown = document::wrap::wrapped(&text, COLUMNS);
        for line in shown.lines() {
            let last = line.rsplit("  ").next().unwrap();
            assert!(line.chars().count() <= COLUMNS.into() || !last.contains(' '), "{line:?} in\n{shown}");
        }
        let words = |text: &str| text.split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&shown), words(&text));
        // What belongs to a fact stands below it.
        let (_, capacity) = shown.split_once("\ncapacity   ").unwrap();
        assert!(
            capacity.starts_with("about 3,110 people can join a second, while\n           150,000 wait"),
            "{shown}"
        );
    }

    #[test]
    fn an_edge_is_told_with_what_it_changes_and_costs() {
        let mut plan = plan();
        assert!(!plan.document().text(80).contains("CloudFront"));
        (plan.costs.polls_answered_by_edge, plan.costs.per_100_000_after_free_tier) = (Some(8), Some(0.81));
        let text = plan.document().text(80);
        assert!(
            text.contains(
                "\nedge       CloudFront answers the page and 8 of 11 polls; the others need functions"
            ),
            "{text}"
        );
        assert!(text.contains("           $0.81 for them with CloudFront's free tier of a month"), "{text}");
    }

    #[test]
    fn nobody_who_is_not_expected_is_mentioned() {
        let text = DeployPlan { outlook: None, ..plan() }.document().text(80);
        assert!(!text.contains("expected"), "{text}");
    }
}
