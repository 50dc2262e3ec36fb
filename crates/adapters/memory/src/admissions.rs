use std::collections::HashMap;
use std::hash::BuildHasher;

use waitroom::{Admission, Token};

/// Where admissions lie. A simulation of millions has a smaller one than a map.
pub trait AdmissionTable: Send + 'static {
    fn get(&self, token: Token) -> Option<Admission>;

    /// Keeps an admission for a token that has none.
    fn put(&mut self, token: Token, admission: Admission);
}

impl<S: BuildHasher + Send + 'static> AdmissionTable for HashMap<Token, Admission, S> {
    fn get(&self, token: Token) -> Option<Admission> {
        self.get(&token).copied()
    }

    fn put(&mut self, token: Token, admission: Admission) {
        self.insert(token, admission);
    }
}
