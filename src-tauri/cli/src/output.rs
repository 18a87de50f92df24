//! The one place that prints: tables with headings on a terminal, tab-separated lines when piped, JSON for programs, and the
//! one line on standard error. Whatever comes from outside has its control characters made visible before it meets a terminal.

use std::future::Future;
use std::io::{self, Write as _};
use std::time::Duration;

use comfy_table::{Attribute, Color, ColumnConstraint, ContentArrangement, Row, Table, presets};
use serde::Serialize;

use crate::failure::Failure;

/// How long a call may take before its progress is shown.
const SHOW_PROGRESS_AFTER: Duration = Duration::from_millis(300);

/// What a piece of text says beside its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Nothing.
    Plain,
    /// That it stands out.
    Strong,
    /// That it is secondary.
    Dim,
    /// That all is well.
    Good,
    /// That it waits or wants a look.
    Warn,
    /// That it failed.
    Bad,
}

/// A piece of text with its tone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    /// Text with a tone, made safe for one line of a terminal.
    pub(crate) fn new(tone: Tone, text: impl AsRef<str>) -> Self {
        Self { text: one_line(text.as_ref()), tone }
    }

    /// Text without one.
    pub(crate) fn plain(text: impl AsRef<str>) -> Self {
        Self::new(Tone::Plain, text)
    }
}

/// A list, in the two shapes in which it can be printed.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// The headings of the terminal's columns; the last column takes what width is left and is cut when it must be.
    pub(crate) heading: Vec<&'static str>,
    /// The terminal's rows.
    pub(crate) shown: Vec<Vec<Cell>>,
    /// The lines for a pipe.
    pub(crate) piped: Vec<Vec<String>>,
    /// What a terminal shows when there is nothing.
    pub(crate) nothing: &'static str,
}

/// Where and how to print.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    /// Whether standard output is a terminal.
    pub(crate) terminal: bool,
    /// Whether it takes colour.
    pub(crate) colour: bool,
    /// Whether standard error is a terminal.
    pub(crate) error_terminal: bool,
    /// Whether it takes colour.
    pub(crate) error_colour: bool,
}

impl Output {
    /// Prints a line that is safe as it is (made of [`Output::paint`], of cells or of our own words).
    pub(crate) fn line(&self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.write_all(b"\n")?;
        out.flush()?;
        Ok(())
    }

    /// Writes without a line break, for what is drawn in place.
    pub(crate) fn raw(&self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        Ok(())
    }

    /// Prints a list as a table or as tab-separated lines.
    pub(crate) fn list(&self, listing: &Listing) -> Result<(), Failure> {
        let text = self.list_text(listing, width());
        self.raw(&text)
    }

    /// The list as text, for a terminal of the given width.
    pub(crate) fn list_text(&self, listing: &Listing, width: Option<u16>) -> String {
        if !self.terminal {
            return listing.piped.iter().map(|fields| tabbed(fields) + "\n").collect();
        }
        if listing.shown.is_empty() {
            return self.paint(Tone::Dim, listing.nothing) + "\n";
        }
        table(listing, width, self.colour)
    }

    /// Prints fields as one tab-separated line.
    pub(crate) fn fields(&self, fields: &[String]) -> Result<(), Failure> {
        self.line(&tabbed(fields))
    }

    /// Prints a value as JSON over several lines.
    pub(crate) fn json<T: Serialize + ?Sized>(&self, value: &T) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
        self.line(&text)
    }

    /// Prints a value as JSON on one line, for streams.
    pub(crate) fn json_line<T: Serialize + ?Sized>(&self, value: &T) -> Result<(), Failure> {
        let text = serde_json::to_string(value).map_err(io::Error::from)?;
        self.line(&text)
    }

    /// Text in its tone where there is colour, made safe for one line.
    pub(crate) fn paint(&self, tone: Tone, text: &str) -> String {
        painted(self.colour, tone, &flat(text))
    }

    /// A text as lines that fit a terminal beside an indent, broken between words only; one line where there is no terminal.
    pub(crate) fn folded(&self, text: &str, indent: usize) -> Vec<String> {
        match width().filter(|_| self.terminal) {
            Some(width) => fold(&flat(text), usize::from(width).saturating_sub(indent)),
            None => vec![flat(text)],
        }
    }

    /// A name and its value under each other with others of their kind; a long value goes on below its beginning.
    pub(crate) fn row(&self, name: &str, tone: Tone, value: &str) -> String {
        let lines: Vec<String> = self.folded(value, ROW).iter().map(|line| self.paint(tone, line)).collect();
        let below = format!("\n{}", " ".repeat(ROW));
        format!("{}  {}", self.paint(Tone::Dim, &format!("{name:<8}")), lines.join(&below))
    }

    /// Prints the one line about a failure to standard error. Nothing is left to do when that fails too.
    pub(crate) fn error(&self, text: &str) {
        let line = format!("{} {}\n", painted(self.error_colour, Tone::Bad, "error:"), one_line(text));
        drop(io::stderr().lock().write_all(line.as_bytes()));
    }

    /// Prints a remark beside the output to standard error.
    pub(crate) fn note(&self, text: &str) {
        let line = painted(self.error_colour, Tone::Dim, &one_line(text)) + "\n";
        drop(io::stderr().lock().write_all(line.as_bytes()));
    }

    /// Waits for `work` and shows on a terminal's standard error that it goes on, when it takes longer than a glance.
    pub(crate) async fn progress<T>(&self, what: &str, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        if let Ok(done) = tokio::time::timeout(SHOW_PROGRESS_AFTER, &mut work).await {
            return done;
        }
        let spinner = self.spinner(what);
        let done = work.await;
        spinner.finish_and_clear();
        done
    }

    /// A sign on a terminal's standard error that something goes on; the caller clears it.
    pub(crate) fn spinner(&self, what: &str) -> indicatif::ProgressBar {
        if !self.error_terminal {
            return indicatif::ProgressBar::hidden();
        }
        let spinner = indicatif::ProgressBar::new_spinner().with_message(one_line(what));
        spinner.enable_steady_tick(Duration::from_millis(100));
        spinner
    }
}

/// The columns before the value of a row.
const ROW: usize = 10;

/// Breaks a text between words so that each line has at most `width` characters; a longer word stays whole.
fn fold(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let longer = line.chars().count() + 1 + word.chars().count();
        if !line.is_empty() && longer > width {
            lines.push(std::mem::take(&mut line));
        } else if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// The width of the terminal on standard output, where it is one.
pub(crate) fn width() -> Option<u16> {
    Table::new().width()
}

fn painted(colour: bool, tone: Tone, text: &str) -> String {
    let code = match tone {
        Tone::Strong => "1",
        Tone::Dim => "2",
        Tone::Good => "32",
        Tone::Warn => "33",
        Tone::Bad => "31",
        Tone::Plain => "",
    };
    if colour && !code.is_empty() && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}

/// A table without lines, two spaces between its columns.
fn table(listing: &Listing, width: Option<u16>, colour: bool) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_truncation_indicator("…");
    if let Some(width) = width {
        table.set_width(width);
    }
    if colour {
        table.enforce_styling();
    }
    table.set_header(listing.heading.iter().map(|name| {
        let cell = comfy_table::Cell::new(name);
        if colour { cell.add_attribute(Attribute::Dim) } else { cell }
    }));
    for cells in &listing.shown {
        let mut row = Row::from(cells.iter().map(|cell| styled(cell, colour)).collect::<Vec<_>>());
        row.max_height(1);
        table.add_row(row);
    }
    let last = listing.heading.len().saturating_sub(1);
    for index in 0..listing.heading.len() {
        if let Some(column) = table.column_mut(index) {
            column.set_padding((0, if index == last { 0 } else { 2 }));
            if index != last {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn styled(cell: &Cell, colour: bool) -> comfy_table::Cell {
    let made = comfy_table::Cell::new(&cell.text);
    if !colour {
        return made;
    }
    match cell.tone {
        Tone::Plain => made,
        Tone::Strong => made.add_attribute(Attribute::Bold),
        Tone::Dim => made.add_attribute(Attribute::Dim),
        Tone::Good => made.fg(Color::DarkGreen),
        Tone::Warn => made.fg(Color::DarkYellow),
        Tone::Bad => made.fg(Color::DarkRed),
    }
}

/// Fields as one line: tabs and line breaks inside a field become spaces.
pub(crate) fn tabbed(fields: &[String]) -> String {
    fields.iter().map(|field| one_line(field)).collect::<Vec<_>>().join("\t")
}

/// Text on one line of a terminal or a pipe: white space becomes single spaces, other control characters visible.
pub(crate) fn one_line(text: &str) -> String {
    flat(text).trim().to_owned()
}

/// [`one_line`] that keeps the spaces at both ends.
fn flat(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\t' | '\n' | '\r' | '\u{0b}' | '\u{0c}' | '\u{85}' | '\u{2028}' | '\u{2029}') {
            if !line.ends_with(' ') {
                line.push(' ');
            }
        } else {
            visible(character, &mut line);
        }
    }
    line
}

/// The lines of a text that is printed whole: tabs stay, other control characters become visible.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(|line| {
        let mut out = String::with_capacity(line.len());
        for character in line.trim_end_matches('\r').chars() {
            if character == '\t' { out.push('\t') } else { visible(character, &mut out) }
        }
        out
    })
}

/// A character that could move the cursor, start a sequence or turn the direction of the text is written as its number.
fn visible(character: char, out: &mut String) {
    let turns = matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if character.is_control() || turns {
        out.extend(character.escape_unicode());
    } else {
        out.push(character);
    }
}

#[cfg(test)]
mod tests {
    use super::{Cell, Listing, Output, Tone, lines, one_line, tabbed};

    fn listing() -> Listing {
        Listing {
            heading: vec!["ID", "UNIT", "ASKS"],
            shown: vec![
                vec![
                    Cell::new(Tone::Dim, "3a9f21"),
                    Cell::plain("acme/api#12"),
                    Cell::plain("Review acme/api#12: you were asked"),
                ],
                vec![Cell::new(Tone::Dim, "b0b0b0"), Cell::plain("acme/api#7"), Cell::plain("short")],
            ],
            piped: vec![vec!["3a9f21ff".to_owned(), "a\tb\nc".to_owned(), String::new()]],
            nothing: "nothing here",
        }
    }

    fn output(terminal: bool, colour: bool) -> Output {
        Output { terminal, colour, error_terminal: false, error_colour: false }
    }

    #[test]
    fn a_long_line_breaks_between_words() {
        let text = "github asks to wait until 14:32 and https://github.test/a/long/address stays whole";
        let lines = super::fold(text, 24);
        assert_eq!(lines, ["github asks to wait", "until 14:32 and", "https://github.test/a/long/address", "stays whole"]);
        assert_eq!(super::fold("short", 24), ["short"]);
        assert_eq!(super::fold("", 0), [""]);
    }

    // interfaces.md, "Command line": tables on a terminal
    #[test]
    fn a_terminal_gets_a_heading_and_columns_that_fit_its_width() {
        let text = output(true, false).list_text(&listing(), Some(40));
        assert_eq!(
            text,
            "ID      UNIT         ASKS\n\
             3a9f21  acme/api#12  Review acme/api#12…\n\
             b0b0b0  acme/api#7   short\n"
        );
        let empty = Listing { nothing: "nothing here", ..Listing::default() };
        assert_eq!(output(true, false).list_text(&empty, None), "nothing here\n");
    }

    #[test]
    fn colour_appears_only_where_it_is_wanted() {
        assert!(output(true, true).list_text(&listing(), Some(80)).contains('\u{1b}'));
        assert!(!output(true, false).list_text(&listing(), Some(80)).contains('\u{1b}'));
        assert_eq!(output(true, true).paint(Tone::Bad, "x"), "\u{1b}[31mx\u{1b}[0m");
        assert_eq!(output(true, false).paint(Tone::Bad, "x"), "x");
    }

    // CLI-04
    #[test]
    fn a_pipe_gets_one_line_of_fields_and_no_heading() {
        assert_eq!(output(false, false).list_text(&listing(), None), "3a9f21ff\ta b c\t\n");
        assert_eq!(output(false, false).list_text(&Listing::default(), None), "");
        assert_eq!(tabbed(&["a".to_owned(), "b\tc".to_owned()]), "a\tb c");
    }

    #[test]
    fn text_from_outside_cannot_drive_the_terminal() {
        assert_eq!(one_line("a\u{1b}[2Jb\r\nc \u{202e}d"), "a\\u{1b}[2Jb c \\u{202e}d");
        assert_eq!(lines("a\u{7}\n\tb\r\n").collect::<Vec<_>>(), ["a\\u{7}", "\tb"]);
    }
}
