//! The figures as a table, for people.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the table stands in the README.
const MARKERS: (&str, &str) = ("<!-- bench -->", "<!-- /bench -->");

/// One line of the table.
pub(crate) struct Figure {
    what: String,
    measured: String,
    budget: String,
    kept: bool,
}

/// The table.
#[derive(Default)]
pub(crate) struct Table(Vec<Figure>);

impl Table {
    /// Adds a line, and tells it at once.
    pub(crate) fn add(&mut self, what: &str, measured: String, budget: &str, kept: bool) {
        eprintln!("{what}: {measured} ({budget}{})", if kept { "" } else { ", MISSED" });
        self.0.push(Figure { what: what.to_owned(), measured, budget: budget.to_owned(), kept });
    }

    /// The machine and the lines, as Markdown.
    pub(crate) fn shown(&self) -> String {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let mut text = format!("Measured on {} with {cores} cores ({}).\n\n", processor(), std::env::consts::OS);
        text.push_str("| what | measured | budget |\n|---|---|---|\n");
        for figure in &self.0 {
            let missed = if figure.kept { "" } else { " (missed)" };
            text.push_str(&format!("| {} | {}{missed} | {} |\n", figure.what, figure.measured, figure.budget));
        }
        text
    }
}

/// The processor's name.
fn processor() -> String {
    let linux = std::fs::read_to_string("/proc/cpuinfo").ok();
    let named =
        |text: String| text.lines().find_map(|line| Some(line.strip_prefix("model name")?.split_once(':')?.1.trim().to_owned()));
    let macos = || {
        let told = std::process::Command::new("sysctl").args(["-n", "machdep.cpu.brand_string"]).output().ok()?;
        String::from_utf8(told.stdout).ok().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
    };
    linux.and_then(named).or_else(macos).unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// Puts the table between the README's markers.
///
/// # Errors
/// What stands in the way, in words.
pub(crate) fn write(readme: &Path, table: &str) -> Result<(), String> {
    let name = readme.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let text = std::fs::read_to_string(readme).map_err(|fault| format!("`{name}` cannot be read: {fault}"))?;
    let (before, rest) = text.split_once(MARKERS.0).ok_or_else(|| format!("`{name}` has no line `{}`", MARKERS.0))?;
    let (_, after) = rest.split_once(MARKERS.1).ok_or_else(|| format!("`{name}` has no line `{}`", MARKERS.1))?;
    let text = format!("{before}{}\n{table}{}{after}", MARKERS.0, MARKERS.1);
    std::fs::write(readme, text).map_err(|fault| format!("`{name}` cannot be written: {fault}"))
}

/// The median that criterion stored for a benchmark in its last run, in nanoseconds.
pub(crate) fn criterion(group: &str, function: &str) -> Option<f64> {
    let target: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?.join("criterion");
    let text = std::fs::read_to_string(target.join(group).join(function).join("new/estimates.json")).ok()?;
    let estimates: serde_json::Value = serde_json::from_str(&text).ok()?;
    estimates.pointer("/median/point_estimate")?.as_f64()
}

/// The value below which that part of the sorted measurements lies.
pub(crate) fn quantile(sorted: &[Duration], part: f64) -> Duration {
    let last = sorted.len().saturating_sub(1);
    sorted.get(((last as f64) * part).round() as usize).copied().unwrap_or_default()
}

/// A duration in milliseconds with three digits or so.
pub(crate) fn ms(length: Duration) -> String {
    let ms = length.as_secs_f64() * 1_000.0;
    if ms < 10.0 { format!("{ms:.2} ms") } else { format!("{ms:.0} ms") }
}

/// Bytes in MiB.
pub(crate) fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
