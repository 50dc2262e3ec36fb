//! A shop behind `beekeeper guard`: its flags, its answers, and nginx and Caddy with the shipped configurations.

mod active;
mod answers;
mod behind_caddy;
mod behind_nginx;
mod fixture;
mod operating;
mod reporting;
mod sharing;

pub(crate) use fixture::Guard;
