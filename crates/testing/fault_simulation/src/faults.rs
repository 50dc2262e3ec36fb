//! Faults at the ports: a store as it is on a bad day.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use waitroom::pass::KeyRing;
use waitroom::ports::{
    Admissions, Admitted, Claimant, Clock, Delivery, Dispatch, Fault, Keys, LineBack, LineFront, LineLength,
    PlanRecord, Plans, PortError, PortResult, Receipt, RoomReader, Slices, StatusBoard, ThrottleMemory,
    ThrottleStore, TicketCounter,
};
use waitroom::{Admission, LineProgress, LineStatus, Place, Plan, Rate, Room, Slice, SliceId, Token};

use crate::{Book, SimClock};

/// What is asked of a port, as far as the weather cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    Room,
    Lease,
    Join,
    Receive,
    Remove,
    Count,
    Look,
    Admit,
    Recent,
    WritePlan,
    Claim,
    Record,
    Progress,
    Publish,
    Keys,
    Throttle,
    Send,
}

/// What becomes of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Faults {
    Fine,
    /// Not done, and the caller is told how it failed.
    Refused(Fault),
    /// Done, but the answer is lost.
    Unconfirmed,
    /// The line answers empty though it is not. Elsewhere: fine.
    Empty,
    /// The line delivers everybody twice at once. Elsewhere: fine.
    Twice,
    /// The line delivers, besides, somebody it delivered before. Elsewhere: fine.
    Again,
}

/// Decides what becomes of each call, and how long it takes.
pub trait Sky: Send {
    fn next(&mut self, call: Call) -> (Faults, Duration);
}

impl<F: FnMut(Call) -> (Faults, Duration) + Send> Sky for F {
    fn next(&mut self, call: Call) -> (Faults, Duration) {
        self(call)
    }
}

/// A store in the weather, with an observer who writes down what really happened.
#[derive(Clone)]
pub struct Weathered<S> {
    inner: S,
    clock: SimClock,
    sky: Arc<Mutex<dyn Sky>>,
    book: Arc<Mutex<Book>>,
    delivered: Arc<Mutex<Vec<Delivery>>>,
}

impl<S> fmt::Debug for Weathered<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Weathered").finish_non_exhaustive()
    }
}

impl<S: Sync> Weathered<S> {
    pub fn new(inner: S, clock: SimClock, sky: Arc<Mutex<dyn Sky>>, book: Arc<Mutex<Book>>) -> Self {
        Self { inner, clock, sky, book, delivered: Arc::default() }
    }

    pub fn inner(&self) -> &S {
        &self.inner
    }

    async fn call<T: Send>(
        &self,
        call: Call,
        work: impl Future<Output = PortResult<T>> + Send,
    ) -> PortResult<T> {
        self.weather(call, work).await.map(|(done, _)| done)
    }

    async fn weather<T: Send>(
        &self,
        call: Call,
        work: impl Future<Output = PortResult<T>> + Send,
    ) -> PortResult<(T, Faults)> {
        let (weather, takes) = self.sky.lock().next(call);
        let there = self.clock.now() + takes / 2;
        self.clock.sleep_until(there).await;
        let done = match weather {
            Faults::Refused(fault) => Err(PortError::new(format!("{call:?}"), fault, "bad weather")),
            Faults::Unconfirmed => {
                work.await?;
                Err(PortError::new(format!("{call:?}"), Fault::Unsure, "the answer was lost"))
            }
            _ => work.await.map(|done| (done, weather)),
        };
        self.clock.sleep_until(self.clock.now() + takes / 2).await;
        done
    }
}

impl<S: RoomReader> RoomReader for Weathered<S> {
    async fn room(&self) -> PortResult<Arc<Room>> {
        self.call(Call::Room, self.inner.room()).await
    }
}

impl<S: TicketCounter> TicketCounter for Weathered<S> {
    async fn lease(&self, count: u32) -> PortResult<u64> {
        self.call(Call::Lease, self.inner.lease(count)).await
    }
}

impl<S: LineBack> LineBack for Weathered<S> {
    async fn join(&self, visitor: Place) -> PortResult<()> {
        self.call(Call::Join, self.inner.join(visitor)).await
    }
}

impl<S: LineFront> LineFront for Weathered<S> {
    async fn receive(&self, most: u32, patience: Duration) -> PortResult<Vec<Delivery>> {
        let received = self.inner.receive(most, patience);
        let (mut received, weather) = self.weather(Call::Receive, received).await?;
        let mut delivered = self.delivered.lock();
        match weather {
            // They are out of sight now, and come back.
            Faults::Empty => received.clear(),
            Faults::Twice => received.extend(received.clone()),
            Faults::Again => received.extend(delivered.last().cloned()),
            _ => {}
        }
        delivered.extend(received.iter().cloned());
        Ok(received)
    }

    async fn remove(&self, receipts: Vec<Receipt>) -> PortResult<()> {
        self.call(Call::Remove, self.inner.remove(receipts)).await
    }

    async fn bury(&self, receipt: Receipt, body: String) -> PortResult<()> {
        self.call(Call::Remove, self.inner.bury(receipt, body)).await
    }
}

impl<S: LineLength> LineLength for Weathered<S> {
    async fn waiting(&self) -> PortResult<u64> {
        self.call(Call::Count, self.inner.waiting()).await
    }
}

impl<S: Admissions> Admissions for Weathered<S> {
    async fn admission(&self, token: Token) -> PortResult<Option<Admission>> {
        self.call(Call::Look, self.inner.admission(token)).await
    }

    async fn admit(&self, token: Token, admission: Admission) -> PortResult<Admitted> {
        let observed = async {
            let answer = self.inner.admit(token, admission).await?;
            if answer == Admitted::Now {
                self.book.lock().confirmed.push((token, self.clock.now()));
            }
            Ok(answer)
        };
        self.call(Call::Admit, observed).await
    }
}

impl<S: Plans> Plans for Weathered<S> {
    async fn recent(&self) -> PortResult<Vec<PlanRecord>> {
        self.call(Call::Recent, self.inner.recent()).await
    }

    async fn write(&self, plan: Plan) -> PortResult<bool> {
        self.call(Call::WritePlan, self.inner.write(plan)).await
    }
}

impl<S: Slices> Slices for Weathered<S> {
    async fn claim(&self, slice: SliceId, claimant: Claimant) -> PortResult<bool> {
        self.call(Call::Claim, self.inner.claim(slice, claimant)).await
    }

    async fn record(&self, slice: SliceId, released: u32, served: u64) -> PortResult<()> {
        self.call(Call::Record, self.inner.record(slice, released, served)).await
    }
}

impl<S: StatusBoard> StatusBoard for Weathered<S> {
    async fn served(&self) -> PortResult<u64> {
        self.call(Call::Progress, self.inner.served()).await
    }

    async fn progress(&self) -> PortResult<LineProgress> {
        self.call(Call::Progress, self.inner.progress()).await
    }

    async fn publish(&self, status: LineStatus) -> PortResult<()> {
        self.call(Call::Publish, self.inner.publish(status)).await
    }
}

impl<S: Keys> Keys for Weathered<S> {
    async fn keys(&self) -> PortResult<Option<KeyRing>> {
        self.call(Call::Keys, self.inner.keys()).await
    }

    async fn create(&self, first: KeyRing) -> PortResult<KeyRing> {
        self.call(Call::Keys, self.inner.create(first)).await
    }
}

impl<S: ThrottleStore> ThrottleStore for Weathered<S> {
    async fn recall(&self) -> PortResult<ThrottleMemory> {
        self.call(Call::Throttle, self.inner.recall()).await
    }

    async fn remember(&self, memory: ThrottleMemory) -> PortResult<bool> {
        self.call(Call::Throttle, self.inner.remember(memory)).await
    }

    async fn hold(&self, rate: Option<Rate>) -> PortResult<()> {
        self.call(Call::Throttle, self.inner.hold(rate)).await
    }
}

impl<S: Dispatch> Dispatch for Weathered<S> {
    async fn send(&self, slice: Slice) -> PortResult<()> {
        self.call(Call::Send, self.inner.send(slice)).await
    }
}
