//! What made a workflow look, a turn and its unit, and workspaces.

use super::FactType::{Bool, Duration, Int, List, Text, Time};
use super::{Known, Slot, WORKSPACE, row};

#[rustfmt::skip]
pub(super) const WORK: [Known; 36] = [
    row("trigger.event.data", Text, &[Slot::Trigger], "What the event carries: the words of a person or an agent.").untrusted().later(),
    row("trigger.event.id", Int, &[Slot::Trigger], "The number of the event, which grows; zero without one.").later(),
    row("trigger.event.key", Text, &[Slot::Trigger], "The key of the event.").later(),
    row("trigger.event.kind", Text, &[Slot::Trigger], "The kind of the event; empty without one.").later(),
    row("trigger.fired_at", Time, &[Slot::Trigger], "The time the schedule named; zero without one.").later(),
    row("trigger.kind", Text, &[Slot::Trigger], "`sweep`, `event` or `schedule`."),
    row("turn.automated", Bool, &[Slot::Turn], "The loop started it by itself."),
    row("turn.needs_take_over", Bool, &[Slot::Turn], "Its intent is for your own pull requests, and this one is not yours and was not taken over."),
    row("turn.owned", Bool, &[Slot::Turn], "The pull request is yours to work on."),
    row("turn.planned", Text, &[Slot::Turn], "The round that was planned: `first` or `follow-up`; empty for none."),
    row("turn.resume", Bool, &[Slot::Turn], "It goes on with an earlier one."),
    row("turn.stage", Text, &[Slot::Turn], "`first` or `follow-up`; only an intent with that dimension reads it."),
    row("turn.try", Bool, &[Slot::Turn], "It is a trial of the profile."),
    row("unit.label", Text, &[Slot::Name], "The unit as people read it: `owner/repo#12`, or `provider:key`."),
    row("unit.ref", Text, &[Slot::Turn], "The unit as instructions name it, such as `owner/repo#12`."),
    row("workspace.dirty", Int, &[WORKSPACE], "Files in it that were changed.").untrusted().later(),
    row("workspace.duplicate", Bool, &[WORKSPACE], "Another workspace is the one linked to its pull request.").later(),
    row("workspace.fingerprint", Text, &[WORKSPACE], "Changes when its folder or its head does.").untrusted().later(),
    row("workspace.last_activity", Time, &[WORKSPACE], "When anything last happened in it.").untrusted().later(),
    row("workspace.main", Bool, &[WORKSPACE], "It is the repository's main checkout.").later(),
    row("workspace.manager", Text, &[WORKSPACE], "The program that holds it.").later(),
    row("workspace.name", Text, &[Slot::Name], "The name of the worktree made for the unit; empty where none is made."),
    row("workspace.newest_turn_state", Text, &[WORKSPACE], "The state of the newest turn on its pull request; empty without one.").untrusted().later(),
    row("workspace.open_turn", Bool, &[WORKSPACE], "A turn is open on its pull request.").untrusted().later(),
    row("workspace.path_exists", Bool, &[WORKSPACE], "Its folder exists.").later(),
    row("workspace.pendency", List, &[WORKSPACE], "What in it would be lost or is unfinished, in words.").untrusted().later(),
    row("workspace.pr", Text, &[WORKSPACE], "Its pull request, as `owner/repo#12`; empty without one.").later(),
    row("workspace.pr_finished_for", Duration, &[WORKSPACE], "Working time since its pull request was merged or closed.").later(),
    row("workspace.pr_state", Text, &[WORKSPACE], "The state of its pull request; empty without one.").later(),
    row("workspace.quiet_for", Duration, &[WORKSPACE], "Time since anything happened in it.").untrusted().later(),
    row("workspace.repo", Text, &[WORKSPACE], "Its repository; empty where it is not known.").later(),
    row("workspace.role", Text, &[WORKSPACE], "`author`, `review` or `none`.").later(),
    row("workspace.sessions", Int, &[WORKSPACE], "Sessions in it that live, or lived a short while ago.").later(),
    row("workspace.temporary", Bool, &[WORKSPACE], "It lies in a folder for temporary files.").later(),
    row("workspace.unpushed", Int, &[WORKSPACE], "Commits in it that no remote has.").untrusted().later(),
    row("workspace.untracked", Int, &[WORKSPACE], "Files in it that git does not know and that may not be thrown away.").untrusted().later(),
];
