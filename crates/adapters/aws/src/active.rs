//! Who is in the shop: what its guards report, in one item, and what the windows have let in.

use waitroom::ports::{ActiveVisitors, Fault, GuardReports, PortError, PortResult};
use waitroom::{KeptReport, Rate, Room, SliceAdmissions, SliceId, Timestamp, WindowAdmissions};

use crate::AwsStore;
use crate::expressions;
use crate::items::{Item, ItemError, Reader, item, number, text};
use crate::keys::Key;
use crate::table::Written;

/// How often a report is written while other guards write theirs.
const ATTEMPTS: u32 = 8;
/// How many plans are read at once, the newest first.
const PLANS_AT_ONCE: u64 = 64;

/// The item `guards`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GuardsItem {
    pub(crate) reports: Vec<KeptReport>,
    pub(crate) version: u64,
}

impl GuardsItem {
    pub(crate) fn encode(&self) -> Result<Item, serde_json::Error> {
        let reports = serde_json::to_string(&self.reports)?;
        Ok(item(Key::Guards, [("reports", text(&reports)), ("version", number(self.version))]))
    }

    pub(crate) fn decode(item: &Item) -> Result<Self, ItemError> {
        let reader = Reader::open(Key::Guards, item)?;
        Ok(Self { reports: reader.json("reports")?, version: reader.number("version")? })
    }
}

impl GuardReports for AwsStore {
    async fn keep_report(&self, report: KeptReport) -> PortResult<()> {
        let attempt = "keep a guard's report";
        for _ in 0..ATTEMPTS {
            let mut guards =
                self.table.read(attempt, Key::Guards, GuardsItem::decode).await?.unwrap_or_default();
            report.clone().keep_among(&mut guards.reports);
            let unchanged = expressions::if_has_version(guards.version);
            guards.version = guards.version.saturating_add(1);
            let item = guards.encode().map_err(PortError::broken(attempt))?;
            if matches!(self.table.put(attempt, item, unchanged).await?, Written::Done(_)) {
                return Ok(());
            }
        }
        Err(PortError::new(
            attempt,
            Fault::Busy,
            "other guards keep reporting; the next report makes up for it",
        ))
    }
}

impl ActiveVisitors for AwsStore {
    async fn reports(&self) -> PortResult<Vec<KeptReport>> {
        let guards = self.table.read("read what guards report", Key::Guards, GuardsItem::decode).await?;
        Ok(guards.unwrap_or_default().reports)
    }

    async fn window_admissions(&self, since: Timestamp) -> PortResult<Vec<WindowAdmissions>> {
        let attempt = "count whom the latest windows let in";
        let progress = self.read_progress(attempt).await?;
        let mut windows = Vec::new();
        let mut newest = progress.latest;
        'plans: while newest > progress.before_epoch {
            let oldest = newest.saturating_sub(PLANS_AT_ONCE).max(progress.before_epoch) + 1;
            for items in self.plan_items(attempt, (oldest..=newest).rev()).await? {
                match items.plan.filter(|plan| plan.window.end >= since) {
                    Some(plan) => windows.push((plan, items.admitted)),
                    None => break 'plans,
                }
            }
            newest = oldest - 1;
        }
        let (room, now) = (self.read_room(attempt).await?, self.now());
        let counts = windows.iter().map(|(plan, admitted)| {
            let of_slice =
                |slice: SliceId| admitted.get(&slice.index).copied().unwrap_or(SliceAdmissions::Untaken);
            WindowAdmissions::of(plan, &room, now, of_slice)
        });
        Ok(counts.collect())
    }

    async fn keep_while_full(&self, lately: Option<Rate>) -> PortResult<()> {
        let keep = move |room: &mut Room| {
            if room.heeds_full(lately) {
                room.while_full = lately;
            }
        };
        self.alter_for_functions("keep how many the full shop lets in", None, keep).await
    }
}
