//! Ids as types. A gate, a draft, a turn, a post and a task each have 128 bits of hexadecimal that come from the engine's seeded
//! source (spec 15.7, TASK-01): never a counter, because a look-up for a post's marker must not meet an older home's post.

use std::fmt;
use std::str::FromStr;

/// Where ids come from. The daemon owns a random one; tests own a seeded one.
pub trait IdSource {
    /// The next 128 bits.
    fn next_bits(&mut self) -> u128;
}

/// A text that is not the id or the name it was taken for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct IdError {
    /// What was given.
    pub text: String,
    /// What would have been right.
    pub expected: &'static str,
}

fn parse_hex(text: &str) -> Option<u128> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    if text.len() != 32 || !plain {
        return None;
    }
    u128::from_str_radix(text, 16).ok()
}

macro_rules! hex_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u128);

        impl $name {
            /// Draws a new id.
            pub fn draw(source: &mut dyn IdSource) -> Self {
                Self(source.next_bits())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:032x}", self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:032x})"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                parse_hex(text).map(Self).ok_or_else(|| IdError {
                    text: text.to_owned(),
                    expected: "an id of 32 hexadecimal digits",
                })
            }
        }
    };
}

hex_id!(
    /// A gate: one decision that needs the person (GATE-01).
    GateId
);
hex_id!(
    /// A draft in the Outbox (DRAFT-01).
    DraftId
);
hex_id!(
    /// A turn: one prompt given to an agent (spec 15.6).
    TurnId
);
hex_id!(
    /// A row of the post ledger (spec 15.7).
    PostId
);
hex_id!(
    /// A task (TASK-01).
    TaskId
);
hex_id!(
    /// A plan item: a round that a rule planned (spec 15.5).
    ItemId
);
hex_id!(
    /// An agent session as the daemon knows it; the value of `WLOOP_SESSION`.
    SessionId
);

/// A unit as `provider:key`, such as `github:PR_kwDOAbc` (GH-SYNC-06).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitRef {
    provider: String,
    key: String,
}

impl UnitRef {
    /// A pull request by its node id.
    #[must_use]
    pub fn github(node_id: &str) -> Self {
        Self { provider: "github".to_owned(), key: node_id.to_owned() }
    }

    /// The provider's name: lower-case letters.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// What the provider calls it.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl fmt::Display for UnitRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.provider, self.key)
    }
}

impl FromStr for UnitRef {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let fault = || IdError { text: text.to_owned(), expected: "a unit, written `provider:key`" };
        let (provider, key) = text.split_once(':').ok_or_else(fault)?;
        let named = !provider.is_empty() && provider.bytes().all(|b| b.is_ascii_lowercase());
        let keyed = !key.is_empty() && !key.contains(char::is_whitespace) && !key.chars().any(char::is_control);
        if named && keyed { Ok(Self { provider: provider.to_owned(), key: key.to_owned() }) } else { Err(fault()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_and_nothing_else_does() {
        // TASK-01
        let text = "00ab45cd00000000000000000000ffff";
        assert_eq!(text.parse::<TaskId>().unwrap().to_string(), text);
        for wrong in ["", "00ab", "00AB45CD00000000000000000000FFFF", "+0ab45cd00000000000000000000ffff"] {
            assert!(wrong.parse::<TaskId>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_unit_needs_provider_and_key() {
        // GH-SYNC-06
        let unit: UnitRef = "github:PR_kw:1".parse().unwrap();
        assert_eq!((unit.provider(), unit.key()), ("github", "PR_kw:1"));
        for wrong in ["github", ":x", "github:", "Git:x", "github:a b"] {
            assert!(wrong.parse::<UnitRef>().is_err(), "{wrong}");
        }
    }
}
