//! Stands in for the services that a function uses: Lambda's runtime API, and a ledger, a secret and a line that always work.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(20);

/// The services, and the calls that they have received.
#[derive(Debug)]
pub(super) struct StandIn {
    pub(super) address: String,
    shared: Arc<StandInState>,
    answers: Receiver<Value>,
}

/// What the function has written.
#[derive(Clone, Debug, Default)]
pub(super) struct KeptItems {
    /// The items of the ledger, by their id.
    ledger: HashMap<String, Value>,
    /// The versions of the secret.
    secret: HashMap<String, Value>,
}

impl KeptItems {
    /// A ledger with this item.
    pub(super) fn with(item: Value) -> Self {
        let ledger = HashMap::from([(id(&item), item)]);
        Self { ledger, ..Self::default() }
    }
}

#[derive(Debug)]
struct StandInState {
    /// Requests that the function has not fetched yet.
    events: Mutex<Receiver<Value>>,
    more_events: Sender<Value>,
    answers: Sender<Value>,
    kept: Mutex<KeptItems>,
    tickets: Mutex<u64>,
    calls: Mutex<HashMap<String, u32>>,
}

impl StandIn {
    pub(super) fn start(kept: KeptItems) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?.to_string();
        let (more_events, events) = channel();
        let (more_answers, answers) = channel();
        let shared = Arc::new(StandInState {
            events: Mutex::new(events),
            more_events,
            answers: more_answers,
            kept: Mutex::new(kept),
            tickets: Mutex::default(),
            calls: Mutex::default(),
        });
        let serving = shared.clone();
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let shared = serving.clone();
                // A broken connection means that the function has ended.
                thread::spawn(move || drop(shared.serve(&connection)));
            }
        });
        Ok(Self { address, shared, answers })
    }

    /// Sends a request to the function, and waits for its answer.
    pub(super) fn ask(&self, event: &Value) -> Result<Value> {
        self.shared.more_events.send(event.clone())?;
        self.answers.recv_timeout(PATIENCE).context("the function did not answer")
    }

    pub(super) fn kept(&self) -> KeptItems {
        lock(&self.shared.kept).clone()
    }

    /// How often each operation was called since the previous call of this method.
    pub(super) fn calls(&self) -> HashMap<String, u32> {
        std::mem::take(&mut *lock(&self.shared.calls))
    }
}

impl StandInState {
    fn serve(&self, connection: &TcpStream) -> Result<()> {
        connection.set_nodelay(true)?;
        let mut reader = BufReader::new(connection);
        loop {
            let mut request = String::new();
            if reader.read_line(&mut request)? == 0 {
                return Ok(());
            }
            let (mut length, mut operation) = (0, String::new());
            loop {
                let mut line = String::new();
                reader.read_line(&mut line)?;
                let Some((name, value)) = line.trim().split_once(':') else { break };
                match name.to_ascii_lowercase().as_str() {
                    "content-length" => length = value.trim().parse()?,
                    "x-amz-target" => value.rsplit('.').next().unwrap_or_default().clone_into(&mut operation),
                    _ => {}
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body)?;
            let body: Value = serde_json::from_slice(&body).unwrap_or_default();
            let answer = if !operation.is_empty() {
                *lock(&self.calls).entry(operation.clone()).or_default() += 1;
                self.call(&operation, &body)
            } else if request.starts_with("GET ") {
                Ok(lock(&self.events).recv()?)
            } else {
                self.answers.send(body)?;
                Ok(Value::Null)
            };
            let (status, answer) = match answer {
                Ok(answer) => ("200 OK", answer.to_string()),
                Err(error) => ("400 Bad Request", json!({ "__type": error }).to_string()),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
                 lambda-runtime-aws-request-id: 1\r\nlambda-runtime-deadline-ms: 9999999999999\r\n\
                 lambda-runtime-invoked-function-arn: arn:aws:lambda:x:1:function:producer\r\n\r\n",
                answer.len()
            );
            (&mut &*connection).write_all((head + &answer).as_bytes())?;
        }
    }

    /// The answer, or the name of an error.
    fn call(&self, operation: &str, asked: &Value) -> Result<Value, &'static str> {
        let text = |name: &str| asked[name].as_str().unwrap_or_default().to_owned();
        let mut kept = lock(&self.kept);
        Ok(match operation {
            "GetItem" => {
                let found = kept.ledger.get(&id(&asked["Key"]));
                found.map_or(json!({}), |item| json!({ "Item": item }))
            }
            "PutItem" => {
                kept.ledger.insert(id(&asked["Item"]), asked["Item"].clone());
                json!({})
            }
            "UpdateItem" => {
                let count = asked["ExpressionAttributeValues"][":count"]["N"].as_str();
                let mut tickets = lock(&self.tickets);
                *tickets += count.and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
                json!({ "Attributes": { "last": { "N": tickets.to_string() } } })
            }
            "GetSecretValue" => {
                let found = kept.secret.get(&text("VersionId")).ok_or("ResourceNotFoundException")?;
                json!({ "SecretString": found })
            }
            "PutSecretValue" => {
                kept.secret.insert(text("ClientRequestToken"), asked["SecretString"].clone());
                json!({})
            }
            "GetQueueAttributes" => json!({ "Attributes": {
                "ApproximateNumberOfMessages": "0", "ApproximateNumberOfMessagesNotVisible": "0",
                "ApproximateNumberOfMessagesDelayed": "0",
            } }),
            _ => json!({ "MessageId": "1" }),
        })
    }
}

fn id(item: &Value) -> String {
    item["id"]["S"].as_str().unwrap_or_default().to_owned()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
