//! Lines of a stream that may be endless in length and number, without ever holding more than one line's limit (RUN-12).

use std::collections::VecDeque;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

const CHUNK: usize = 64 * 1024;

/// One line, without its line break.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// At most the limit's bytes and the slack's.
    pub(crate) bytes: Vec<u8>,
    /// How many bytes followed that were not kept.
    pub(crate) dropped: u64,
}

pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    limit: usize,
    line: Vec<u8>,
    dropped: u64,
    ready: VecDeque<Line>,
    muted: bool,
    unkept: u64,
    ended: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(reader: R, limit: usize) -> Self {
        Self {
            reader: BufReader::with_capacity(CHUNK, reader),
            limit,
            line: Vec::new(),
            dropped: 0,
            ready: VecDeque::new(),
            muted: false,
            unkept: 0,
            ended: false,
        }
    }

    /// From here on bytes are only counted.
    pub(crate) fn mute(&mut self) {
        self.muted = true;
        self.unkept += self.line.len() as u64 + self.dropped;
        self.unkept += self.ready.drain(..).map(|l| l.bytes.len() as u64 + l.dropped + 1).sum::<u64>();
        self.line = Vec::new();
        self.dropped = 0;
    }

    /// How many bytes were only counted.
    pub(crate) fn unkept(&self) -> u64 {
        self.unkept
    }

    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// A complete line that was read.
    pub(crate) fn take(&mut self) -> Option<Line> {
        self.ready.pop_front()
    }

    /// Reads what is there, waiting for some. May be dropped at any time without losing a byte: it waits before it takes anything.
    pub(crate) async fn step(&mut self) {
        let count = match self.reader.fill_buf().await {
            Ok(bytes) => bytes.len(),
            Err(error) => {
                tracing::debug!(%error, "an agent's stream cannot be read on");
                0
            }
        };
        if count == 0 {
            self.ended = true;
            if !self.muted && (!self.line.is_empty() || self.dropped > 0) {
                self.close_line();
            }
            return;
        }
        if self.muted {
            self.unkept += count as u64;
        } else {
            // Taken out for the time of the loop, because it reads the buffer and writes the rest of `self`.
            let bytes = self.reader.buffer().to_vec();
            let mut parts = bytes.split(|b| *b == b'\n').peekable();
            while let Some(part) = parts.next() {
                let room = self.limit.saturating_sub(self.line.len()).min(part.len());
                self.line.extend_from_slice(part.get(..room).unwrap_or_default());
                self.dropped += (part.len() - room) as u64;
                if parts.peek().is_some() {
                    self.close_line();
                }
            }
        }
        self.reader.consume(count);
    }

    fn close_line(&mut self) {
        let mut bytes = std::mem::take(&mut self.line);
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        self.ready.push_back(Line { bytes, dropped: std::mem::take(&mut self.dropped) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(input: &[u8], limit: usize) -> Vec<(String, u64)> {
        let mut lines = Lines::new(input, limit);
        let mut got = Vec::new();
        while !lines.ended() {
            lines.step().await;
            while let Some(line) = lines.take() {
                got.push((String::from_utf8_lossy(&line.bytes).into_owned(), line.dropped));
            }
        }
        got
    }

    #[tokio::test]
    async fn lines_are_cut_at_the_limit_and_counted() {
        // RUN-12
        let expected = [("ab", 0), ("", 0), ("cdef", 3), ("x", 0)].map(|(t, n)| (t.to_owned(), n));
        assert_eq!(all(b"ab\r\n\ncdefghi\nx", 4).await, expected);
        assert_eq!(all(b"", 4).await, []);
    }

    #[tokio::test]
    async fn a_muted_stream_is_only_counted() {
        // RUN-12
        let input = vec![b'a'; 3 * CHUNK];
        let mut lines = Lines::new(input.as_slice(), usize::MAX);
        lines.step().await;
        lines.mute();
        while !lines.ended() {
            lines.step().await;
        }
        assert_eq!((lines.take(), lines.unkept()), (None, 3 * CHUNK as u64));
    }
}
