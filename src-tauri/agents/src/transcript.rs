//! The transcript of a turn: lines of JSON in a file that only its owner reads, written while the agent runs (RUN-29).

use std::fs::File;
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// One line of a transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Milliseconds since the process was started.
    pub ms: u64,
    /// What it says.
    #[serde(flatten)]
    pub said: Said,
}

/// What a line of a transcript says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Said {
    /// How the agent was started. Of the environment only the names.
    Start {
        /// Program and arguments.
        command: Vec<String>,
        /// The folder it runs in.
        folder: String,
        /// The names of its environment variables.
        environment: Vec<String>,
    },
    /// The whole prompt.
    Prompt {
        /// Its text.
        text: String,
    },
    /// A line of standard output.
    Out {
        /// The line.
        line: String,
    },
    /// A line of standard error.
    Err {
        /// The line.
        line: String,
    },
    /// A remark of the loop, such as that something was dropped.
    Note {
        /// Its text.
        text: String,
    },
    /// How it ended.
    End {
        /// In words.
        text: String,
    },
}

/// Writes a transcript. A disk that is full ends the transcript and not the run.
#[derive(Debug)]
pub(crate) struct Writer {
    file: BufWriter<File>,
    begun: Instant,
    fault: Option<String>,
}

impl Writer {
    /// Makes the file, mode 0600, and its folder, mode 0700, where they are missing.
    pub(crate) fn create(path: &Path, begun: Instant) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        Ok(Self { file: BufWriter::new(file), begun, fault: None })
    }

    /// Writes one entry and answers its length in bytes.
    pub(crate) fn say(&mut self, said: Said) -> u64 {
        let ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let written = serde_json::to_vec(&Entry { ms, said }).map_err(io::Error::other).and_then(|mut line| {
            line.push(b'\n');
            self.file.write_all(&line).map(|()| line.len() as u64)
        });
        self.keep_fault(written)
    }

    /// Makes what was written readable for others.
    pub(crate) fn flush(&mut self) {
        let flushed = self.file.flush().map(|()| 0);
        self.keep_fault(flushed);
    }

    /// The first error of writing, if there was one.
    pub(crate) fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    fn keep_fault(&mut self, done: io::Result<u64>) -> u64 {
        done.unwrap_or_else(|error| {
            if self.fault.is_none() {
                tracing::warn!(%error, "a transcript cannot be written on");
                self.fault = Some(error.to_string());
            }
            0
        })
    }
}

/// The end of a transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct Tail {
    /// The entries, oldest first.
    pub entries: Vec<Entry>,
    /// Whether there are earlier ones.
    pub earlier: bool,
}

/// The last `lines` entries of a transcript, as many of them as `bytes` bytes of the file hold, but always the last one.
/// A line that is still being written, or that no longer reads, is left out.
///
/// # Errors
/// When the file is missing or cannot be read.
pub fn read_tail(path: &Path, lines: usize, bytes: u64) -> io::Result<Tail> {
    const BLOCK: u64 = 64 * 1024;
    let mut file = File::open(path)?;
    let end = file.seek(SeekFrom::End(0))?;
    let mut start = end;
    let mut blocks: Vec<Vec<u8>> = Vec::new();
    let mut breaks = 0;
    // One line break more than lines, because the first line of what was read is then complete.
    while start > 0 && breaks <= lines && (end - start < bytes || breaks < 2) {
        let size = start.min(BLOCK);
        start -= size;
        file.seek(SeekFrom::Start(start))?;
        let mut block = vec![0; usize::try_from(size).map_err(io::Error::other)?];
        file.read_exact(&mut block)?;
        breaks += block.iter().filter(|b| **b == b'\n').count();
        blocks.push(block);
    }
    blocks.reverse();
    let read = blocks.concat();
    let mut complete: Vec<&[u8]> = read.split(|b| *b == b'\n').collect();
    if start > 0 && !complete.is_empty() {
        complete.remove(0);
    }
    let mut entries: Vec<Entry> = complete.iter().filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let over = entries.len().saturating_sub(lines);
    entries.drain(..over);
    Ok(Tail { earlier: start > 0 || over > 0, entries })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(n: usize) -> Said {
        Said::Note { text: format!("{n}{}", "x".repeat(n % 300)) }
    }

    fn texts(tail: &Tail) -> Vec<Said> {
        tail.entries.iter().map(|e| e.said.clone()).collect()
    }

    #[tokio::test]
    async fn the_tail_of_a_long_transcript_is_read_without_its_start() {
        // RUN-29
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/t.jsonl");
        let mut writer = Writer::create(&path, Instant::now()).unwrap();
        for n in 0..2000 {
            writer.say(note(n));
        }
        writer.flush();
        let tail = read_tail(&path, 3, 1 << 20).unwrap();
        assert_eq!((texts(&tail), tail.earlier), ([1997, 1998, 1999].map(note).to_vec(), true));
        let all = read_tail(&path, 9999, u64::MAX).unwrap();
        assert_eq!((all.entries.len(), all.earlier), (2000, false));
        let little = read_tail(&path, 9999, 1).unwrap();
        assert!(little.earlier && !little.entries.is_empty() && little.entries.len() < 2000);
        assert!(read_tail(&path, 0, 1).unwrap().entries.is_empty());
    }

    #[tokio::test]
    async fn a_torn_last_line_is_left_out_and_a_huge_one_is_read() {
        // RUN-29
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        let mut writer = Writer::create(&path, Instant::now()).unwrap();
        writer.say(note(1));
        writer.say(Said::Out { line: "y".repeat(300_000) });
        writer.flush();
        assert!(matches!(texts(&read_tail(&path, 1, 10).unwrap()).as_slice(), [Said::Out { .. }]));
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"ms\":1,\"ki").unwrap();
        assert_eq!(read_tail(&path, 5, u64::MAX).unwrap().entries.len(), 2);
        assert!(read_tail(&dir.path().join("none"), 5, 1).is_err());
    }

    #[tokio::test]
    async fn only_the_owner_reads_it() {
        // RUN-29
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("transcripts/t.jsonl");
        Writer::create(&path, Instant::now()).unwrap();
        let mode = |p: &Path| std::fs::metadata(p).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    }
}
