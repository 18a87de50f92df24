//! One macro for the closed sets of words that rows, files and answers use.

/// Gives an enum its words: `ALL`, `as_str` and `from_word`, each word once.
macro_rules! words {
    ($name:ident { $($variant:ident = $word:literal),* $(,)? }) => {
        impl $name {
            /// Every value with its word, in order.
            pub const ALL: &'static [(Self, &'static str)] = &[$((Self::$variant, $word)),*];

            /// The word in rows, files and answers.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),*
                }
            }

            /// The value of a word; `None` for any other text.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().find(|(_, w)| *w == word).map(|(value, _)| *value)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use words;
