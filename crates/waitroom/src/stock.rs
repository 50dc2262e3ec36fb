use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::newtypes::{FormError, read_in_thousands, whole_number};

/// How many a stock has: a whole number of visitors from 1 to 100,000,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct StockSize(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a stock is a whole number of visitors, from 1 to {}", StockSize::MAX.get())]
pub struct StockSizeError;

impl StockSize {
    pub const MAX: Self = Self(100_000_000);
}

whole_number!(StockSize(u32), StockSize::MAX.0, StockSizeError);
read_in_thousands!(StockSize, StockSizeError);

/// How many more a room lets in before it ends by itself.
///
/// It is part of the [valve](crate::Valve), so it is counted from the instant on from which that is in force, and every slice
/// knows from its plan whether it takes from a stock. The ledger counts, in the transaction that writes an admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stock {
    /// How many, when it was ordered.
    pub size: StockSize,
    /// The version that the room got by the order. Whoever is let in under one order counts for no other.
    pub order: u64,
}

impl Stock {
    const MALFORMED: FormError = FormError("a stock has the form <size>/<order>");
}

impl fmt::Display for Stock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.size, self.order)
    }
}

impl FromStr for Stock {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        let (size, order) = text.split_once('/').ok_or(Self::MALFORMED)?;
        let (size, order) = (size.parse(), order.parse());
        Ok(Self { size: size.map_err(|_| Self::MALFORMED)?, order: order.map_err(|_| Self::MALFORMED)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stock_is_displayed_and_parsed() {
        let stock = Stock { size: StockSize::new(1).unwrap(), order: 17 };
        assert_eq!((stock.to_string().as_str(), "1/17".parse()), ("1/17", Ok(stock)));
        assert_eq!(serde_json::to_string(&stock).unwrap(), r#"{"size":1,"order":17}"#);
        for wrong in ["", "5", "5/", "/17", "0/17", "-1/17", "5/17/1"] {
            assert_eq!(wrong.parse::<Stock>(), Err(Stock::MALFORMED), "{wrong}");
        }
    }

    #[test]
    fn a_size_is_written_in_thousands_too() {
        for (text, size) in [("1", 1), ("5k", 5000), ("100000k", 100_000_000)] {
            assert_eq!(text.parse::<StockSize>().map(StockSize::get), Ok(size));
        }
        for wrong in ["", "0", "-1", "100001k", "5m", "all"] {
            assert_eq!(wrong.parse::<StockSize>(), Err(StockSizeError), "{wrong}");
        }
    }
}
