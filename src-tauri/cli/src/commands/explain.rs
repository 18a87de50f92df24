//! `wloop explain`: whether each workflow would act on a pull request now, and what its condition comes to (CEL-08).

use wloop_api::types::{Explained, ExplainedTerm};

use crate::args::ExplainArguments;
use crate::commands::facts::words;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, Tone, lines};

/// `wloop explain <unit> [<workflow>]`.
pub(crate) async fn run(context: &Context, arguments: &ExplainArguments) -> Result<(), Failure> {
    let (client, out) = (context.client()?, &context.out);
    let mut found = out.progress("asking the daemon", client.unit_explain(&arguments.unit)).await?;
    if let Some(name) = &arguments.workflow {
        let known: Vec<String> = found.iter().map(|one| format!("`{}`", one.workflow)).collect();
        found.retain(|one| one.workflow == *name);
        if found.is_empty() {
            return Err(Failure::Refused(format!("there is no workflow `{name}` on this unit; known are {}", known.join(", "))));
        }
    }
    if context.json {
        return out.json(&found);
    }
    if out.terminal {
        return out.raw(&found.iter().map(|one| page(out, one)).collect::<Vec<_>>().join("\n"));
    }
    for one in &found {
        for term in &one.terms {
            out.fields(&[one.workflow.clone(), one.acts.to_string(), holds(term).1, term.term.clone(), read(term)])?;
        }
    }
    Ok(())
}

fn holds(term: &ExplainedTerm) -> (Tone, String) {
    match (&term.failed, term.holds) {
        (Some(_), _) | (None, None) => (Tone::Bad, "fails".to_owned()),
        (None, Some(true)) => (Tone::Good, "true".to_owned()),
        (None, Some(false)) => (Tone::Warn, "false".to_owned()),
    }
}

/// The facts that a term read, in a line.
fn read(term: &ExplainedTerm) -> String {
    let facts = term.facts.iter().map(|fact| match words(&fact.value) {
        text if fact.kind == "string" => format!("{} = \"{text}\"", fact.name),
        text if fact.kind == "list" => format!("{} = [{text}]", fact.name),
        text => format!("{} = {text}", fact.name),
    });
    facts.chain(term.failed.clone()).collect::<Vec<_>>().join(", ")
}

fn page(out: &Output, one: &Explained) -> String {
    let (tone, acts) = if one.acts { (Tone::Good, "acts") } else { (Tone::Dim, "does not act") };
    let mut text = format!(
        "{} {}\n",
        out.paint(Tone::Strong, &format!("{} · {}:", one.workflow, one.summary)),
        out.paint(tone, &format!("{acts}: {}", one.because))
    );
    for term in &one.terms {
        let (tone, holds) = holds(term);
        for (place, line) in lines(&term.term).enumerate() {
            let sign = if place == 0 { out.paint(tone, &format!("{holds:<5}")) } else { "     ".to_owned() };
            text.push_str(&format!("  {sign}  {}\n", out.paint(Tone::Plain, &line)));
        }
        let read = read(term);
        if !read.is_empty() {
            text.push_str(&format!("         {}\n", out.paint(Tone::Dim, &read)));
        }
    }
    text
}
