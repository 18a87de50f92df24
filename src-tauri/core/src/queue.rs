//! The order in which released rounds start (RUN-28): those by hand first, then in order of release, at most so many at once over
//! all and of each agent. The engine starts by it, and the lists show it.

use jiff::Timestamp;

use crate::id::ItemId;

/// A released round that has not started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    /// The round.
    pub item: ItemId,
    /// Whether a person asked for it.
    pub by_hand: bool,
    /// When it was released.
    pub released_at: Timestamp,
    /// The agent that would run it.
    pub agent: String,
    /// It is not tried before this: it was put off, or its place was taken.
    pub try_after: Timestamp,
}

/// Puts the rounds into the order of their start.
pub fn order(queue: &mut [Queued]) {
    queue.sort_by_key(|round| (!round.by_hand, round.released_at, round.item));
}

/// The rounds of an ordered queue that may start now, beside the agents that run. A round of an agent that has no place of its own
/// leaves a free place to the next one, and so does one that was put off.
#[must_use]
pub fn startable(
    queue: &[Queued],
    running: &[String],
    most: usize,
    most_of: impl Fn(&str) -> usize,
    now: Timestamp,
) -> Vec<ItemId> {
    let mut busy: Vec<&str> = running.iter().map(String::as_str).collect();
    let mut start = Vec::new();
    for round in queue.iter().filter(|round| round.try_after <= now) {
        if busy.len() >= most {
            break;
        }
        if busy.iter().filter(|agent| **agent == round.agent).count() < most_of(&round.agent) {
            busy.push(&round.agent);
            start.push(round.item);
        }
    }
    start
}

/// The place of a round in an ordered queue, from 1; `None` for one that does not wait in it.
#[must_use]
pub fn place(queue: &[Queued], item: ItemId) -> Option<usize> {
    queue.iter().position(|round| round.item == item).map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u8) -> ItemId {
        format!("{n:032x}").parse().unwrap()
    }

    fn round(n: u8, by_hand: bool, released: i64, agent: &str) -> Queued {
        let released_at = Timestamp::from_second(released).unwrap();
        Queued { item: id(n), by_hand, released_at, agent: agent.to_owned(), try_after: Timestamp::UNIX_EPOCH }
    }

    fn ids(numbers: &[u8]) -> Vec<ItemId> {
        numbers.iter().copied().map(id).collect()
    }

    #[test]
    fn by_hand_goes_first_and_then_the_order_of_release() {
        // RUN-28
        let mut queue = [round(1, false, 30, "a"), round(2, false, 10, "a"), round(3, true, 40, "a"), round(4, true, 20, "a")];
        order(&mut queue);
        assert_eq!(queue.iter().map(|r| r.item).collect::<Vec<_>>(), ids(&[4, 3, 2, 1]));
        assert_eq!([1, 2, 3, 4, 5].map(|n| place(&queue, id(n))), [Some(4), Some(3), Some(2), Some(1), None]);
    }

    #[test]
    fn a_full_agent_leaves_its_place_to_the_next_one() {
        // RUN-28
        let now = Timestamp::from_second(100).unwrap();
        let mut queue =
            [round(1, false, 1, "full"), round(2, false, 2, "full"), round(3, false, 3, "other"), round(4, false, 4, "other")];
        let of = |agent: &str| if agent == "full" { 1 } else { 9 };
        assert_eq!(startable(&queue, &[], 2, of, now), ids(&[1, 3]));
        assert_eq!(startable(&queue, &["full".to_owned()], 3, of, now), ids(&[3, 4]));
        assert_eq!(startable(&queue, &["full".to_owned(), "other".to_owned()], 2, of, now), ids(&[]));
        queue[0].try_after = Timestamp::from_second(101).unwrap();
        assert_eq!(startable(&queue, &[], 2, of, now), ids(&[2, 3]), "one that was put off holds no place");
    }
}
