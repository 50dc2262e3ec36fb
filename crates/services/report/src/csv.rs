use super::event::EventReport;

impl EventReport {
    /// A line for each minute that counts. `simulate` and `rehearse` read it as a past event.
    pub fn csv(&self) -> String {
        let mut csv =
            "at,joined,released,entered,waiting,rate,longest_wait,median_wait,throttled\n".to_owned();
        for minute in self.counted() {
            let count = minute.count;
            let or_empty = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
            let fields = [
                count.at.to_string().replacen(' ', "T", 1).replace(" UTC", "Z"),
                count.joined.to_string(),
                count.released.to_string(),
                or_empty(count.entered),
                count.waiting.to_string(),
                or_empty(count.rate.map(|rate| rate.get().into())),
                or_empty(count.longest_wait),
                or_empty(minute.median_wait),
                u8::from(minute.throttled).to_string(),
            ];
            csv.push_str(&fields.join(","));
            csv.push('\n');
        }
        csv
    }
}
