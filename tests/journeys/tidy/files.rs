//! Files: how long they are, and what must not lie about in them.

use super::{files, is_test_code, root, sources, text};

/// The most lines of a Rust file.
const LINES: usize = 600;
/// The files that are longer, each with the most it may have and why it is not split.
const LONGER: &[(&str, usize, &str)] = &[];

#[test]
fn files_stay_short() {
    let mut wrong = Vec::new();
    for path in files().into_iter().filter(|path| path.ends_with(".rs")) {
        let most = LONGER.iter().find(|(known, _, _)| *known == path).map_or(LINES, |(_, most, _)| *most);
        let lines = text(&path).lines().count();
        if lines > most {
            wrong.push(format!("{path}: {lines} lines, more than {most}: split it by subject"));
        }
    }
    wrong.extend(LONGER.iter().filter(|(path, _, _)| !root().join(path).exists()).map(|(path, _, _)| format!("{path} is gone")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nothing_is_left_unfinished() {
    let words = ["TODO", "FIXME", "XXX", "HACK"];
    let macros = ["todo!", "unimplemented!", "dbg!"];
    let mut wrong = Vec::new();
    for (path, text) in sources(&[".rs", ".toml", ".sql", ".md", ".tmpl", "Makefile", ".ci/run"]) {
        // The demo's sample code is meant to give a reviewer something to say.
        if path.starts_with("src-tauri/world/src/demo/files/") {
            continue;
        }
        for (n, line) in text.lines().enumerate() {
            let comment = if path.ends_with(".rs") { comment_of(line) } else { line };
            let word = words.iter().find(|word| comment.split(|c: char| !c.is_ascii_alphanumeric()).any(|found| found == **word));
            let code = &line[..line.len() - comment.len()];
            let left = macros.iter().find(|name| path.ends_with(".rs") && code.contains(*name));
            if let Some(found) = word.or(left) {
                wrong.push(format!("{path}:{}: `{found}`", n + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "left unfinished:\n{}", wrong.join("\n"));
}

/// The comment at the end of a line of Rust, empty where there is none. Two slashes after an odd number of quotes stand in a string.
fn comment_of(line: &str) -> &str {
    let mut quotes = 0;
    for (at, c) in line.char_indices() {
        quotes += usize::from(c == '"');
        if quotes % 2 == 0 && line[at..].starts_with("//") {
            return &line[at..];
        }
    }
    ""
}

#[test]
fn nothing_prints_but_the_voices_of_the_daemon() {
    // `listening on …`, and a line to whoever started it. The command line writes through its own `output`, the rest to the log.
    let mut found = Vec::new();
    for (path, text) in sources(&[".rs"]) {
        let prints = |line: &&str| {
            let code = &line[..line.len() - comment_of(line).len()];
            ["println!(", "print!("].iter().any(|name| code.contains(name))
        };
        if !is_test_code(&path) && !path.contains("/benches/") {
            found.extend(std::iter::repeat_n(path, text.lines().filter(prints).count()));
        }
    }
    assert!(found.len() <= 2 && found.iter().all(|path| path.starts_with("src-tauri/daemon/src/")), "{found:?}");
}

#[test]
fn no_file_names_a_place_of_one_machine() {
    let here = root();
    let here = here.to_string_lossy();
    // A path of one part, such as `/src`, is too common a word to be looked for.
    let here = (here.matches('/').count() > 1).then_some(here.as_ref());
    let mut wrong = Vec::new();
    for (path, text) in
        sources(&[".rs", ".toml", ".sql", ".md", ".tmpl", ".svg", ".json", ".py", "Makefile", ".ci/run", ".graphql"])
    {
        // A test may name a home that nobody has.
        let may_make_homes_up = is_test_code(&path) || text.contains("#[cfg(test)]");
        for (n, line) in text.lines().enumerate() {
            let homes = ["/Users/", "/root/", "/home/"].into_iter().filter(|_| !may_make_homes_up);
            let found = homes.chain(here).find(|place| line.contains(place));
            if let Some(place) = found {
                wrong.push(format!("{path}:{}: `{place}`", n + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
