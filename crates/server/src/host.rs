//! A room while it runs on this machine: its sites, and what happens in the background.

use std::sync::Arc;
use std::time::Duration;

use embedded::EmbeddedStore;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};

use crate::connections::{AccessLog, Limits, serve};
use crate::socket::OrderSocket;
use crate::{AnswerMetrics, App, DemoShop, HttpService, Monitor, schedule};

/// It runs until it is closed.
#[derive(Debug)]
pub struct HostedRoom {
    store: EmbeddedStore,
    minute: Duration,
    /// Whoever watches it closes the sites, and ends the consumers.
    end: watch::Sender<()>,
    sites: Vec<JoinHandle<()>>,
    background: Vec<JoinHandle<()>>,
}

impl HostedRoom {
    /// Opens the room to visitors and to orders, and begins to release.
    pub fn open(
        store: EmbeddedStore,
        minute: Duration,
        app: Arc<App>,
        door: (TcpListener, Limits, AccessLog),
        orders: OrderSocket,
    ) -> Self {
        let end = watch::Sender::new(());
        let mut room = Self { store, minute, end, sites: Vec::new(), background: Vec::new() };
        let (listener, limits, log) = door;
        room.serve(listener, app.clone(), limits, log);
        room.keep_running(schedule::run(room.store.clone(), minute, room.end.subscribe()));
        room.keep_running(async move { orders.serve(app).await });
        room
    }

    pub fn open_demo_shop(&mut self, listener: TcpListener, shop: DemoShop) {
        self.serve(listener, Arc::new(shop), Limits::default(), AccessLog::Off);
    }

    pub fn open_monitor(&mut self, listener: TcpListener, metrics: Arc<AnswerMetrics>) {
        let monitor = Arc::new(Monitor::new(self.store.clone(), metrics));
        self.serve(listener, monitor, Limits::of_monitoring(), AccessLog::Off);
    }

    fn serve<S: HttpService>(&mut self, listener: TcpListener, site: Arc<S>, limits: Limits, log: AccessLog) {
        let mut ended = self.end.subscribe();
        let until_the_end = async move { drop(ended.changed().await) };
        self.sites.push(tokio::spawn(serve(listener, site, limits, log, until_the_end)));
    }

    /// Does this too, until the room is closed.
    pub fn keep_running(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.background.push(tokio::spawn(task));
    }

    /// Answers whoever has asked already, and returns how many wait. Every place is kept.
    pub async fn close(self) -> Result<u64, JoinError> {
        // Ended first, or the throttle would find a demonstration shop that has just closed, and hold the rate down for it.
        for task in &self.background {
            task.abort();
        }
        for task in self.background {
            drop(task.await);
        }
        self.end.send_replace(());
        for site in self.sites {
            site.await?;
        }
        schedule::note_last_minute(&self.store, self.minute, self.end.subscribe()).await;
        let waiting = self.store.status().waiting;
        tokio::task::spawn_blocking(move || self.store.close()).await?;
        Ok(waiting)
    }
}
