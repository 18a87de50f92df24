//! Tokens never reach what is stored (RUN-34).

use std::fmt;

/// What stands where a token stood.
pub const REDACTED: &str = "[redacted]";

/// Replaces every known token in a text.
#[derive(Clone, Default)]
pub struct Redactor {
    tokens: Vec<String>,
    longest: usize,
}

impl Redactor {
    /// From every token that the daemon knows; empty ones mean nothing.
    #[must_use]
    pub fn new(tokens: &[String]) -> Self {
        let mut tokens: Vec<String> = tokens.iter().map(|t| t.trim().to_owned()).filter(|t| !t.is_empty()).collect();
        // The longest first, so that a token that begins like another leaves no rest behind.
        tokens.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        tokens.dedup();
        let longest = tokens.first().map_or(0, String::len);
        Self { tokens, longest }
    }

    /// The length of the longest token in bytes: a text must be cut only after this much more of it was looked at.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// The text without a token.
    #[must_use]
    pub fn apply(&self, text: String) -> String {
        self.tokens.iter().fold(
            text,
            |text, token| {
                if text.contains(token.as_str()) { text.replace(token.as_str(), REDACTED) } else { text }
            },
        )
    }

    /// Whether a token is in the text.
    #[must_use]
    pub fn finds(&self, text: &str) -> bool {
        self.tokens.iter().any(|token| text.contains(token.as_str()))
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} tokens)", self.tokens.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_goes_and_the_longer_one_first() {
        // RUN-34
        let redactor = Redactor::new(&["ghp_1".to_owned(), " ghp_12 ".to_owned(), String::new()]);
        assert_eq!(redactor.apply("a ghp_12 b ghp_1ghp_1".to_owned()), "a [redacted] b [redacted][redacted]");
        assert!(redactor.finds("xghp_1x") && !redactor.finds("ghp"));
        assert!(!format!("{redactor:?}").contains("ghp"));
    }
}
