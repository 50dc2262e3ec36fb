//! What was taken of a stock.
//!
//! One transaction writes the admissions of a batch and counts them. Many consumers release at once, and transactions on one
//! item exclude each other. So the stock is divided into sixteen shares: each slice takes from one of them, and from the
//! others when nothing is left of that. An item counts what was taken of its share, from the first one on.

use waitroom::ports::{Admissions, Admitted, Fault, PortError, PortResult, RoomReader, StockCount};
use waitroom::{Admission, AdmittedBy, Stock, Token};

use crate::AwsStore;
use crate::expressions;
use crate::items::{Item, ItemError, Reader, encode_admission};
use crate::keys::Key;
use crate::table::Write;

/// How many shares a stock has.
const SHARES: u8 = 16;
/// The most transactions for one batch: several for each of ten visitors who may be admitted already, and for shares that others
/// empty meanwhile.
const ATTEMPTS: u32 = 32;

/// How many a share has. All together have as many as the stock.
fn size(stock: Stock, share: u8) -> u32 {
    let (size, shares) = (stock.size.get(), u32::from(SHARES));
    size / shares + u32::from(u32::from(share) < size % shares)
}

/// The share that somebody takes from first.
fn first_share(visitors: &[(Token, Admission)]) -> u8 {
    let index = visitors.iter().find_map(|(_, admission)| match admission.by {
        AdmittedBy::Slice(slice) => Some(slice.index),
        AdmittedBy::Door | AdmittedBy::Permit => None,
    });
    // Less than sixteen.
    u8::try_from(index.unwrap_or_default() % u16::from(SHARES)).unwrap_or_default()
}

pub(crate) fn decode_taken(key: Key, item: &Item) -> Result<u32, ItemError> {
    let taken = Reader::open(key, item)?.number("taken")?;
    Ok(u32::try_from(taken).unwrap_or(u32::MAX))
}

impl AwsStore {
    /// How many are left in each share.
    async fn shares(&self, attempt: &'static str, stock: Stock) -> PortResult<Vec<(u8, u32)>> {
        let items =
            self.table.get_all(attempt, (0..SHARES).map(|share| Key::Stock(stock.order, share))).await?;
        let left = |share| {
            let key = Key::Stock(stock.order, share);
            let taken = items.get(&key.id()).map_or(Ok(0), |item| decode_taken(key, item))?;
            Ok((share, size(stock, share).saturating_sub(taken)))
        };
        (0..SHARES).map(left).collect::<Result<_, ItemError>>().map_err(PortError::broken(attempt))
    }

    /// The write that takes one, for somebody who is let in by hand. `None` if nothing is left.
    pub(crate) async fn take_one(&self, attempt: &'static str, stock: Stock) -> PortResult<Option<Write>> {
        let fullest = self.shares(attempt, stock).await?.into_iter().max_by_key(|(_, left)| *left);
        Ok(fullest.filter(|(_, left)| *left > 0).map(|(share, _)| take(stock, share, 1)))
    }
}

/// The write that takes so many from a share.
fn take(stock: Stock, share: u8, count: u32) -> Write {
    Write::Update(Key::Stock(stock.order, share), expressions::take_from(size(stock, share), count))
}

/// Visitors whose admissions are written together, as far as something is left for them.
struct StockBatch<'a> {
    store: &'a AwsStore,
    stock: Stock,
    visitors: Vec<(Token, Admission)>,
    answers: Vec<Option<Admitted>>,
    /// Those without an answer, by their position.
    open: Vec<usize>,
    /// The share that is taken from, and how many may be left there.
    share: u8,
    left: u32,
}

impl StockBatch<'_> {
    const ATTEMPT: &'static str = "write admissions from the stock";

    /// Answers some of those without an answer. Returns false when nothing is left for them.
    async fn go_on(&mut self) -> PortResult<bool> {
        if self.left > 0 {
            self.take().await?;
        } else if !self.choose_share().await? {
            // They may be admitted already.
            self.look_up(self.open.clone()).await?;
            return Ok(false);
        }
        Ok(true)
    }

    /// Writes admissions for those without an answer, from the share. Nothing is written if one of them is admitted already, or
    /// if others have taken from the share meanwhile.
    async fn take(&mut self) -> PortResult<()> {
        // At most ten.
        let count = self.left.min(u32::try_from(self.open.len()).unwrap_or(u32::MAX));
        let batch: Vec<_> = self.open.iter().take(count as usize).copied().collect();
        let put = |index: &usize| {
            let (token, admission) = &self.visitors[*index];
            Write::Put(encode_admission(*token, admission), expressions::if_absent())
        };
        let writes = batch.iter().map(put).chain([take(self.stock, self.share, count)]).collect();
        let refused = self.store.table.try_together(Self::ATTEMPT, writes).await?;
        if refused.is_empty() {
            for index in batch {
                self.answer(index, Admitted::Now);
            }
            self.left -= count;
            return Ok(());
        }
        if refused.contains(&batch.len()) {
            self.left = 0;
        }
        let admitted = refused.iter().filter_map(|write| batch.get(*write).copied()).collect();
        self.look_up(admitted).await
    }

    /// Goes on with the fullest share. Returns whether there is one with something left.
    async fn choose_share(&mut self) -> PortResult<bool> {
        let shares = self.store.shares(Self::ATTEMPT, self.stock).await?;
        if let Some((share, left)) = shares.into_iter().max_by_key(|(_, left)| *left) {
            (self.share, self.left) = (share, left);
        }
        Ok(self.left > 0)
    }

    /// Answers those of them who are admitted already.
    async fn look_up(&mut self, among: Vec<usize>) -> PortResult<()> {
        for index in among {
            if let Some(before) = self.store.admission(self.visitors[index].0).await? {
                self.answer(index, Admitted::Before(before));
            }
        }
        Ok(())
    }

    /// An error that says that it was perhaps done, if something was.
    fn failed(&self, mut error: PortError) -> PortError {
        if self.answers.contains(&Some(Admitted::Now)) {
            error.fault = Fault::Unsure;
        }
        error
    }

    fn answer(&mut self, index: usize, answer: Admitted) {
        self.answers[index] = Some(answer);
        self.open.retain(|open| *open != index);
    }
}

impl StockCount for AwsStore {
    async fn admit_from(
        &self,
        stock: Stock,
        visitors: Vec<(Token, Admission)>,
    ) -> PortResult<Vec<Option<Admitted>>> {
        let (share, all) = (first_share(&visitors), visitors.len());
        let (answers, open) = (vec![None; all], (0..all).collect());
        let left = size(stock, share);
        let mut batch = StockBatch { store: self, stock, visitors, answers, open, share, left };
        for _ in 0..ATTEMPTS {
            if batch.open.is_empty() {
                return Ok(batch.answers);
            }
            match batch.go_on().await {
                Ok(true) => {}
                Ok(false) => return Ok(batch.answers),
                Err(error) => return Err(batch.failed(error)),
            }
        }
        let why = "other consumers keep taking from the stock";
        Err(batch.failed(PortError::new(StockBatch::ATTEMPT, Fault::Busy, why)))
    }

    async fn left(&self, stock: Stock) -> PortResult<u32> {
        let shares = self.shares("count what is left of the stock", stock).await?;
        Ok(shares.into_iter().map(|(_, left)| left).sum())
    }

    async fn end_if_sold_out(&self) -> PortResult<()> {
        let Some(stock) = self.room_now().await?.stock else { return Ok(()) };
        if self.left(stock).await? == 0 { self.sell_out(stock).await } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_add_up_to_the_stock() {
        for of in (1..100).chain([5000, 100_000_000]) {
            let stock = Stock { size: of.try_into().unwrap(), order: 1 };
            let sizes: Vec<_> = (0..SHARES).map(|share| size(stock, share)).collect();
            assert_eq!(sizes.iter().map(|size| u64::from(*size)).sum::<u64>(), u64::from(of));
            assert!(sizes[0] - sizes[15] <= 1, "{sizes:?}");
        }
    }
}
