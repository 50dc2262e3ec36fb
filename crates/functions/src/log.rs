//! The log of a function: one line of JSON for each event, with the fields of the spans around it and the causes of
//! errors.

use std::env;
use std::error::Error;
use std::fmt::Debug;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Span, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Scope};
use tracing_subscriber::util::SubscriberInitExt;
use waitroom::with_causes;

/// Starts logging. The environment variable `RUST_LOG` selects events, for example `info,consumer=debug`. Without it,
/// all events of level info and above are logged. An invalid filter only logs a warning: it must not stop a waiting
/// room.
pub fn start() {
    let set = env::var("RUST_LOG").ok().filter(|filter| !filter.is_empty());
    let (filter, mistake) = filter(set.as_deref());
    tracing_subscriber::registry().with(filter).with(JsonLines(std::io::stdout)).init();
    if let Some(mistake) = mistake {
        tracing::warn!(error = mistake, "RUST_LOG is not a valid filter; it is ignored");
    }
}

/// The filter to use, and what is wrong with the configured one, if it is invalid.
fn filter(set: Option<&str>) -> (Targets, Option<String>) {
    let default = Targets::new().with_default(LevelFilter::INFO);
    match set.map(str::parse) {
        None => (default, None),
        Some(Ok(filter)) => (filter, None),
        Some(Err(error)) => (default, Some(error.to_string())),
    }
}

/// The span of one request to a function: every line that is logged in it names the room and the request.
pub fn request_span(room: &str, request_id: &str) -> Span {
    // The span has the highest level, so that no log filter removes it.
    tracing::error_span!("request", room, requestId = request_id, epoch = tracing::field::Empty)
}

/// Writes events as lines of JSON.
struct JsonLines<W>(W);

impl<S, W> Layer<S> for JsonLines<W>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            let mut fields = Fields::default();
            attributes.record(&mut fields);
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut time = String::new();
        // Writing to a string does not fail.
        let _ = SystemTime.format_time(&mut Writer::new(&mut time));
        let mut line = Fields::default();
        line.put("timestamp", time);
        line.put("level", event.metadata().level().as_str());
        line.put("target", event.metadata().target());
        for span in context.event_scope(event).into_iter().flat_map(Scope::from_root) {
            if let Some(Fields(fields)) = span.extensions().get::<Fields>() {
                line.0.extend(fields.clone());
            }
        }
        event.record(&mut line);
        let line = format!("{}\n", Value::Object(line.0));
        // A line that cannot be written must not fail the work that it describes.
        let _ = std::io::Write::write_all(&mut self.0.make_writer(), line.as_bytes());
    }
}

#[derive(Default)]
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

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field.name(), value);
    }

    /// Writes the error with its causes, because its own text does not contain them.
    fn record_error(&mut self, field: &Field, error: &(dyn Error + 'static)) {
        self.put(field.name(), with_causes(error));
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use futures_executor::block_on;
    use tracing::Instrument;
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

    /// The lines that are logged with this filter, without their time.
    fn logged(set: Option<&str>, work: impl FnOnce()) -> Vec<Value> {
        let written = Written::default();
        let subscriber = tracing_subscriber::registry().with(filter(set).0).with(JsonLines(written.clone()));
        tracing::subscriber::with_default(subscriber, work);
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        let without_time = |line: &str| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            let time = line.as_object_mut().unwrap().remove("timestamp").unwrap();
            assert!(time.as_str().unwrap().ends_with('Z'), "{time}");
            line
        };
        text.lines().map(without_time).collect()
    }

    #[test]
    fn an_event_is_one_line_of_json_with_its_spans_and_its_causes() {
        let lines = logged(None, || {
            block_on(
                async {
                    let slice = tracing::error_span!("slice", epoch = tracing::field::Empty, slice = %"7.0");
                    slice.record("epoch", "ab12");
                    let _entered = slice.enter();
                    let error = PortError::new("read the room", Fault::Busy, "throttled\nfor now");
                    tracing::warn!(error = &error as &dyn Error, released = 7, mean = 0.25, "goes \"on\"");
                    tracing::debug!("not at this level");
                }
                .instrument(request_span("sale", "c7e2")),
            );
        });
        let expected = serde_json::json!({
            "level": "WARN", "target": "functions::log::tests", "room": "sale", "requestId": "c7e2",
            "epoch": "ab12", "slice": "7.0", "message": "goes \"on\"", "released": 7, "mean": 0.25,
            "error": "could not read the room: throttled\nfor now",
        });
        assert_eq!(lines, [expected]);
    }

    #[test]
    fn a_filter_selects_what_is_logged() {
        let messages = |set| {
            let lines = logged(set, || {
                tracing::info!(target: "consumer", "a");
                tracing::debug!(target: "consumer", "b");
                tracing::warn!(target: "producer", "c");
                let _entered = request_span("sale", "c7e2").entered();
                tracing::error!(target: "producer", "d");
            });
            lines.iter().map(|line| line["message"].as_str().unwrap().to_owned()).collect::<String>()
        };
        assert_eq!(messages(None), "acd");
        assert_eq!(messages(Some("error,consumer=debug")), "abd");
        assert_eq!(messages(Some("off")), "");
        assert_eq!(messages(Some("consumer=loud")), "acd", "the default");
        assert!(filter(Some("consumer=loud")).1.is_some_and(|mistake| !mistake.is_empty()));
    }
}
