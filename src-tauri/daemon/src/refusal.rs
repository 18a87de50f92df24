//! Why the engine did not do what was asked. A refusal changes nothing, save that guidance which came too late is kept (F10).

use wloop_core::id::GateId;
use wloop_store::StoreError;

/// The kind of a refusal, with its HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// There is no such thing.
    NotFound,
    /// This caller may not.
    Forbidden,
    /// The state does not allow it.
    Conflict,
    /// The arguments are wrong.
    Invalid,
    /// Not now.
    Unavailable,
}

impl RefusalKind {
    /// The HTTP status.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::NotFound => 404,
            Self::Forbidden => 403,
            Self::Conflict => 409,
            Self::Invalid => 422,
            Self::Unavailable => 503,
        }
    }

    /// A stable word and the kind in a few words.
    #[must_use]
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::NotFound => ("not_found", "there is no such thing"),
            Self::Forbidden => ("forbidden", "this caller may not do that"),
            Self::Conflict => ("conflict", "its state does not allow that"),
            Self::Invalid => ("invalid", "the request is not right"),
            Self::Unavailable => ("unavailable", "not now"),
        }
    }
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct Refusal {
    /// Its kind.
    pub kind: RefusalKind,
    /// What, where, what to do next.
    pub detail: String,
    /// The gate it is about.
    pub gate: Option<GateId>,
    /// The argument that was wrong.
    pub field: Option<&'static str>,
    /// A word of MCP-05 where a tool was called.
    pub code: Option<&'static str>,
}

impl Refusal {
    /// A refusal of that kind.
    #[must_use]
    pub fn new(kind: RefusalKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), gate: None, field: None, code: None }
    }

    /// The same about a gate.
    #[must_use]
    pub fn about(mut self, gate: GateId) -> Self {
        self.gate = Some(gate);
        self
    }

    /// The same about an argument.
    #[must_use]
    pub fn field(mut self, field: &'static str) -> Self {
        self.field = Some(field);
        self
    }

    /// The same with a tool's word.
    #[must_use]
    pub fn code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }
}

/// Why an input was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// It was refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The ledger failed; nothing of the input was written.
    #[error("the ledger did not take it")]
    Store(#[from] StoreError),
}

/// A result of the engine.
pub type Answer<T> = Result<T, EngineError>;
