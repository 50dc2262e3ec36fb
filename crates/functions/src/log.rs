//! What is logged: one line of JSON for each event, with the request's id and whatever caused an error.

use std::error::Error;
use std::fmt::{self, Debug, Write as _};
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// The request that is being answered. A function answers one at a time.
static REQUEST: Mutex<String> = Mutex::new(String::new());

/// From now on events are logged.
pub(crate) fn init() {
    tracing_subscriber::fmt().with_max_level(Level::INFO).event_format(Lines).init();
}

/// From now on events belong to this request.
pub fn begin_request(id: &str) {
    id.clone_into(&mut REQUEST.lock().unwrap_or_else(PoisonError::into_inner));
}

struct Lines;

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut line: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        let mut fields = Fields(Map::new());
        fields.put("timestamp", time);
        fields.put("level", event.metadata().level().to_string());
        let request = REQUEST.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if !request.is_empty() {
            fields.put("requestId", request);
        }
        event.record(&mut fields);
        writeln!(line, "{}", Value::Object(fields.0))
    }
}

struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.into(), value.into());
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.put(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field.name(), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field.name(), value);
    }

    /// With its causes, since no error's own words repeat them.
    fn record_error(&mut self, field: &Field, error: &(dyn Error + 'static)) {
        let mut told = error.to_string();
        for cause in std::iter::successors(error.source(), |&cause| cause.source()) {
            // Writing to a string does not fail.
            let _ = write!(told, ": {cause}");
        }
        self.put(field.name(), told);
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use tracing_subscriber::fmt::MakeWriter;
    use waitroom::ports::{Fault, PortError};

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Written {
        type Writer = Self;

        fn make_writer(&'a self) -> Self {
            self.clone()
        }
    }

    #[test]
    fn an_event_is_one_line_of_json_with_its_request_and_its_causes() {
        let written = Written::default();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(Level::INFO)
            .event_format(Lines)
            .with_writer(written.clone())
            .finish();
        begin_request("c7e2");
        tracing::subscriber::with_default(subscriber, || {
            let error = PortError::new("read the room", Fault::Busy, "throttled\nfor now");
            tracing::warn!(error = &error as &dyn Error, released = 7, slice = %"1.2", "goes \"on\"");
            tracing::debug!("of no interest");
        });
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        let mut line: Value = serde_json::from_str(&text).unwrap();
        let time = line.as_object_mut().unwrap().remove("timestamp").unwrap();
        assert!(time.as_str().unwrap().ends_with('Z'), "{time}");
        let expected = serde_json::json!({
            "level": "WARN", "requestId": "c7e2", "message": "goes \"on\"", "slice": "1.2", "released": 7,
            "error": "could not read the room: throttled\nfor now",
        });
        assert_eq!(line, expected);
    }
}
