//! What comes from the streams of a run: kept in the transcript within limits, and listened to for what decides something.

use std::collections::VecDeque;

use crate::headless::{Limits, RunEvent};
use crate::output::{OutputFormat, ReportedError, Usage, hear};
use crate::redact::Redactor;
use crate::stream::Line;
use crate::transcript::{Said, Writer};

/// How many lines of standard error a failure shows (table R2).
const TAIL_LINES: usize = 10;

/// What was heard so far, and where it goes.
pub(crate) struct Listener {
    pub(crate) output: OutputFormat,
    line_limit: usize,
    stdout_left: u64,
    tail_limit: usize,
    redactor: Redactor,
    pub(crate) transcript: Writer,
    /// Standard error: what goes to the transcript at once, and after that the last lines.
    head_left: usize,
    tail: VecDeque<String>,
    tail_bytes: usize,
    pub(crate) last: VecDeque<String>,
    pub(crate) muted: bool,
    pub(crate) prompt_given: bool,
    pub(crate) spoke: bool,
    pub(crate) session: Option<String>,
    pub(crate) reported: Option<ReportedError>,
    pub(crate) usage: Option<Usage>,
    pub(crate) dropped: u64,
    left_out: u64,
    pub(crate) events: VecDeque<RunEvent>,
}

impl Listener {
    pub(crate) fn new(output: OutputFormat, limits: &Limits, redactor: Redactor, transcript: Writer) -> Self {
        Self {
            output,
            line_limit: limits.line,
            stdout_left: limits.stdout,
            tail_limit: limits.stderr_tail,
            redactor,
            transcript,
            head_left: limits.stderr_tail,
            tail: VecDeque::new(),
            tail_bytes: 0,
            last: VecDeque::new(),
            muted: false,
            prompt_given: false,
            spoke: false,
            session: None,
            reported: None,
            usage: None,
            dropped: 0,
            left_out: 0,
            events: VecDeque::new(),
        }
    }

    fn heard_line(&mut self) {
        if self.prompt_given && !self.spoke {
            self.spoke = true;
            self.events.push_back(RunEvent::FirstLine);
        }
    }

    /// The line as it may be stored, and whether it is whole. Redacted before it is cut: a cut token would not be known.
    fn text(&mut self, line: &Line, limit: usize) -> (String, bool) {
        let mut text = self.redactor.apply(String::from_utf8_lossy(&line.bytes).into_owned());
        let whole = line.dropped == 0 && text.len() <= limit;
        if text.len() > limit {
            let cut = (0..=limit).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            self.dropped += (text.len() - cut) as u64;
            text.truncate(cut);
        }
        self.dropped += line.dropped;
        (text, whole)
    }

    pub(crate) fn out(&mut self, line: &Line) {
        self.heard_line();
        let (text, whole) = self.text(line, self.line_limit);
        if whole {
            self.listen(&text);
        }
        if self.muted {
            self.dropped += text.len() as u64;
            return;
        }
        let length = self.transcript.say(Said::Out { line: text });
        if !whole {
            let kept = self.line_limit;
            self.transcript.say(Said::Note { text: format!("the line before is cut after {kept} bytes") });
        }
        self.stdout_left = self.stdout_left.saturating_sub(length);
        if self.stdout_left == 0 {
            self.muted = true;
            self.transcript
                .say(Said::Note { text: "the limit of standard output is reached; what follows is not kept".to_owned() });
        }
    }

    fn listen(&mut self, text: &str) {
        let heard = hear(self.output, text);
        if let Some(session) = heard.session.filter(|s| self.session.as_ref() != Some(s)) {
            self.events.push_back(RunEvent::AgentSession(session.clone()));
            self.session = Some(session);
        }
        if let Some(verdict) = heard.verdict {
            // One event for each new error; an agent that repeats itself does not fill the queue.
            if let Some(error) = verdict.as_ref().filter(|e| self.reported.as_ref() != Some(e)) {
                self.events.retain(|e| !matches!(e, RunEvent::Reported(_)));
                self.events.push_back(RunEvent::Reported(error.clone()));
            }
            self.reported = verdict;
        }
        if heard.usage.is_some() {
            self.usage = heard.usage;
        }
    }

    pub(crate) fn err(&mut self, line: &Line) {
        self.heard_line();
        let (text, _) = self.text(line, self.line_limit.min(self.tail_limit));
        self.last.push_back(text.clone());
        if self.last.len() > TAIL_LINES {
            self.last.pop_front();
        }
        if self.head_left > text.len() {
            self.head_left -= text.len() + 1;
            self.transcript.say(Said::Err { line: text });
            return;
        }
        self.head_left = 0;
        self.tail_bytes += text.len() + 1;
        self.tail.push_back(text);
        while self.tail_bytes > self.tail_limit
            && let Some(old) = self.tail.pop_front()
        {
            self.tail_bytes -= old.len() + 1;
            self.left_out += old.len() as u64 + 1;
        }
    }

    pub(crate) fn finish(&mut self) {
        if self.left_out > 0 {
            let note = format!("{} bytes of standard error are not kept here; its end follows", self.left_out);
            self.transcript.say(Said::Note { text: note });
            self.dropped += self.left_out;
        }
        for line in std::mem::take(&mut self.tail) {
            self.transcript.say(Said::Err { line });
        }
    }
}
