//! What happens in a life, as data. A step is a kind and a number from which everything that is random inside it follows, so that a
//! script with steps taken out still means the same for those that stay.

use std::fmt;

/// A small generator of its own: what a life does must not change with a library's version.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits (splitmix64).
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0, below `sides`.
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        usize::try_from(self.bits() % sides.max(1) as u64).unwrap_or(0)
    }

    /// True once in `of`.
    pub(crate) fn chance(&mut self, of: usize) -> bool {
        self.roll(of) == 0
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        if from.is_empty() { None } else { from.get(self.roll(from.len())).cloned() }
    }
}

/// Who or what acts in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Some time passes while the daemon runs.
    Time,
    /// The machine sleeps, over deadlines as it may be.
    Sleep,
    /// The wall clock jumps, either way.
    Jump,
    /// Something happens on GitHub.
    Outside,
    /// GitHub gets well or ill for a while: limits, no network, a refused token.
    Weather,
    /// The daemon claims a job that is due, and begins it.
    Begin,
    /// Something that is under way outside comes a step further.
    Finish,
    /// The daemon does what is due, and what is under way ends well.
    Settle,
    /// The person decides or asks for something.
    Person,
    /// An answer of the person arrives that was written earlier, or arrives again.
    Letter,
    /// An agent calls a tool.
    Agent,
    /// A session that may not, tries.
    Stranger,
    /// The daemon is killed and started again.
    Crash,
    /// The daemon is stopped in order and started again.
    Restart,
    /// The disk is full, or has room again.
    Disk,
}

/// Every kind with its weight in an ordinary life; a life draws its own temper from these.
const KINDS: [(Kind, u64); 15] = [
    (Kind::Time, 12),
    (Kind::Sleep, 2),
    (Kind::Jump, 2),
    (Kind::Outside, 24),
    (Kind::Weather, 4),
    (Kind::Begin, 44),
    (Kind::Finish, 40),
    (Kind::Settle, 16),
    (Kind::Person, 28),
    (Kind::Letter, 6),
    (Kind::Agent, 32),
    (Kind::Stranger, 1),
    (Kind::Crash, 2),
    (Kind::Restart, 1),
    (Kind::Disk, 1),
];

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) kind: Kind,
    pub(crate) dice: u64,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:016x}", self.kind, self.dice)
    }
}

/// The steps of a seed's life. Each life has a temper of its own: what is rare in one is common in the next.
pub(crate) fn script(seed: u64, length: usize) -> Vec<Step> {
    let mut dice = Dice::new(seed ^ 0x5eed);
    let weights: Vec<(Kind, u64)> =
        KINDS.iter().map(|(kind, weight)| (*kind, weight * [1, 2, 2, 3, 6].get(dice.roll(5)).copied().unwrap_or(2))).collect();
    let all: u64 = weights.iter().map(|(_, weight)| weight).sum();
    let draw = |dice: &mut Dice| {
        let mut left = dice.bits() % all;
        for (kind, weight) in &weights {
            if left < *weight {
                return *kind;
            }
            left -= weight;
        }
        Kind::Time
    };
    (0..length)
        .map(|_| {
            let kind = draw(&mut dice);
            Step { kind, dice: dice.bits() }
        })
        .collect()
}

/// The shortest script, as far as `most` tries reach, that still fails: parts are taken out, ever smaller ones (delta debugging).
pub(crate) fn shorten(script: &[Step], most: usize, fails: impl Fn(&[Step]) -> bool) -> Vec<Step> {
    let mut kept = script.to_vec();
    let mut part = kept.len().div_ceil(2);
    let mut tries = 0;
    while part >= 1 && tries < most {
        let before = kept.len();
        let mut at = 0;
        while at < kept.len() && tries < most {
            let end = (at + part).min(kept.len());
            let shorter: Vec<Step> = kept.iter().take(at).chain(kept.iter().skip(end)).copied().collect();
            tries += 1;
            if fails(&shorter) {
                kept = shorter;
            } else {
                at = end;
            }
        }
        if part == 1 && kept.len() == before {
            break;
        }
        part = if part == 1 { 1 } else { part / 2 };
    }
    kept
}
