//! What the operator does while a simulated event runs.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use waitroom::{ExtraSize, Mode, Rate, Room, RoomState, StockSize};

/// An order, and how long after the first visitor could come it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOrder {
    pub after: Duration,
    pub order: SimulatedOrder,
}

/// In the words of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedOrder {
    SetRate(Rate),
    Release(ExtraSize),
    Mode(Mode),
    Pause,
    On,
    Close,
    CloseAfter(StockSize),
    End,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimedOrderError {
    #[error(
        "write when, and then what: \"10m set-rate 6k\", \"15m release 500\", \"20m pause\", \"25m on\", \"30m close\", \"30m close --after 5k\" or \"40m end\""
    )]
    Form,
    #[error("an order comes within 7d of the first visitor")]
    TooLate,
    #[error("{0}")]
    Rate(#[from] waitroom::RateError),
    #[error("{0}")]
    Release(#[from] waitroom::ExtraSizeError),
    #[error("{0}")]
    Mode(#[from] waitroom::FormError),
    #[error("{0}")]
    Stock(#[from] waitroom::StockSizeError),
}

impl TimedOrder {
    const LATEST: Duration = Duration::from_hours(7 * 24);

    /// Whether nobody is released after the last of these orders.
    pub(crate) fn end_paused(orders: &[Self]) -> bool {
        let is_state = |order: &&Self| {
            !matches!(
                order.order,
                SimulatedOrder::SetRate(_)
                    | SimulatedOrder::Release(_)
                    | SimulatedOrder::Mode(_)
                    | SimulatedOrder::CloseAfter(_)
            )
        };
        let states = orders.iter().filter(is_state);
        states.max_by_key(|order| order.after).is_some_and(|last| last.order == SimulatedOrder::Pause)
    }
}

impl SimulatedOrder {
    /// As the operator's real order changes the room.
    pub(crate) fn apply(self, room: &mut Room) {
        match self {
            Self::SetRate(rate) => room.settings.rate = rate,
            // The real order is refused.
            Self::Release(_) if !room.releases() || room.extra.is_some() => {}
            Self::Release(visitors) => room.release_more(visitors),
            Self::Mode(mode) => room.settings.mode = mode,
            Self::Pause => room.pause(),
            Self::On => room.turn(RoomState::On),
            Self::Close => room.turn(RoomState::Closed),
            Self::CloseAfter(size) => room.sell(size),
            Self::End => room.turn(RoomState::Ended),
        }
    }
}

impl FromStr for TimedOrder {
    type Err = TimedOrderError;

    fn from_str(text: &str) -> Result<Self, TimedOrderError> {
        // A time may have several parts, each of which begins with a digit: 1h 30m.
        let words: Vec<_> = text.split_whitespace().collect();
        let of_order = |word: &&str| word.starts_with(|letter: char| letter.is_ascii_alphabetic());
        let (after, order) = words.split_at(words.iter().position(of_order).unwrap_or(words.len()));
        let after = humantime::parse_duration(&after.join(" ")).map_err(|_| TimedOrderError::Form)?;
        if after > Self::LATEST {
            return Err(TimedOrderError::TooLate);
        }
        let order = match *order {
            ["set-rate", rate] => SimulatedOrder::SetRate(rate.parse()?),
            ["release", visitors] => SimulatedOrder::Release(visitors.parse()?),
            ["mode", mode] => SimulatedOrder::Mode(mode.parse()?),
            ["pause"] => SimulatedOrder::Pause,
            ["on"] => SimulatedOrder::On,
            ["close"] => SimulatedOrder::Close,
            ["close", "--after", size] => SimulatedOrder::CloseAfter(size.parse()?),
            ["end"] => SimulatedOrder::End,
            _ => return Err(TimedOrderError::Form),
        };
        Ok(Self { after, order })
    }
}

impl fmt::Display for TimedOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let after = humantime::format_duration(self.after);
        match self.order {
            SimulatedOrder::SetRate(rate) => write!(f, "{after} set-rate {rate}"),
            SimulatedOrder::Release(visitors) => write!(f, "{after} release {visitors}"),
            SimulatedOrder::Mode(mode) => write!(f, "{after} mode {mode}"),
            SimulatedOrder::Pause => write!(f, "{after} pause"),
            SimulatedOrder::On => write!(f, "{after} on"),
            SimulatedOrder::Close => write!(f, "{after} close"),
            SimulatedOrder::CloseAfter(size) => write!(f, "{after} close --after {size}"),
            SimulatedOrder::End => write!(f, "{after} end"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(text: &str) -> Result<TimedOrder, TimedOrderError> {
        text.parse()
    }

    #[test]
    fn an_order_is_written_as_it_is_read() {
        for text in [
            "10m set-rate 6000",
            "15m release 500",
            "0s pause",
            "1h 30m on",
            "2h close",
            "2h close --after 5000",
            "3h end",
            "1day 2h 3m 4s set-rate 60",
            "1s 500ms pause",
        ] {
            assert_eq!(order(text).unwrap().to_string(), text);
        }
        assert_eq!(order("90m on"), order("1h30m on"));
        assert_eq!(order(" 10m  set-rate 6k "), order("10m set-rate 6000"));
        for wrong in
            ["", "10m", "set-rate 600", "10m off", "10m pause now", "noon on", "-5m on", "10 on", "1h 30 on"]
        {
            assert_eq!(order(wrong), Err(TimedOrderError::Form), "{wrong}");
        }
        assert_eq!(order("8d on"), Err(TimedOrderError::TooLate));
        assert!(order("1m set-rate 0").unwrap_err().to_string().contains("270000"));
    }

    #[test]
    fn the_last_order_of_the_state_counts() {
        let ends_paused = |orders: &[&str]| {
            TimedOrder::end_paused(&orders.iter().map(|text| order(text).unwrap()).collect::<Vec<_>>())
        };
        assert!(
            ends_paused(&["5m pause"])
                && ends_paused(&["9m pause", "2m on", "10m set-rate 6", "11m release 5"])
        );
        assert!(!ends_paused(&[]) && !ends_paused(&["9m on", "2m pause"]));
    }
}
