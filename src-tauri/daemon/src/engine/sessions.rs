//! Sessions: who acts through one (RES-03, RES-06 to RES-12), what hooks tell of one, and closing one (SES-01 to SES-04, SES-10).

use serde_json::json;
use wloop_core::event::EventKind;
use wloop_core::gate::Actor;
use wloop_core::id::{SessionId, TurnId};
use wloop_core::session::{Closing, driven, may_close};
use wloop_store::rows::{NewEvent, SessionRow};

use super::{Cx, Reply, event};
use crate::caller::typing;
use crate::input::{Caller, HookEvent, HookReport};
use crate::refusal::{Answer, EngineError, Refusal, RefusalKind};

fn short(session: SessionId) -> String {
    session.to_string().get(..6).unwrap_or_default().to_owned()
}

impl Cx<'_> {
    /// As whom a caller acts: the person, through a session that is driven; an unattended one writes nothing but through its tools
    /// (RES-11, RES-19).
    pub(super) fn may_write(&self, caller: &Caller) -> Answer<Actor> {
        let words = match caller {
            Caller::Person => return Ok(Actor::PERSON),
            Caller::Session(session) => {
                let row = self.tx.session(*session)?;
                if let Some(row) = row
                    && driven(&typing(self.tx, &row)?)
                {
                    return Ok(Actor::Person { via: Some(*session) });
                }
                format!(
                    "session {} is unattended: it resolves, starts and changes nothing; the person does, in the cockpit or at a terminal",
                    short(*session)
                )
            }
            Caller::Unknown(why) => format!(
                "this caller counts as unattended ({why}) and changes nothing; the person does, in the cockpit or at a terminal"
            ),
        };
        Err(Refusal::new(RefusalKind::Forbidden, words).into())
    }

    /// A session decides nothing that a turn of its own produced, also where the person drives it (RES-12).
    pub(super) fn not_its_own(&self, turn: Option<TurnId>) -> Result<(), EngineError> {
        let (Actor::Person { via: Some(session) }, Some(turn)) = (&self.acting, turn) else { return Ok(()) };
        let Some(turn) = self.tx.turn(turn)? else { return Ok(()) };
        if turn.session != *session && !self.one_conversation(turn.session, *session)? {
            return Ok(());
        }
        let words = format!(
            "a turn of session {} asked this itself, so it is not answered through that session; answer in the cockpit or at a terminal of \
             your own",
            short(*session)
        );
        Err(Refusal::new(RefusalKind::Forbidden, words).into())
    }

    /// Whether two sessions are one conversation of one agent, which somebody has gone on with elsewhere.
    fn one_conversation(&self, one: SessionId, other: SessionId) -> Result<bool, EngineError> {
        let (Some(one), Some(other)) = (self.tx.session(one)?, self.tx.session(other)?) else { return Ok(false) };
        Ok(one.remote.is_some() && one.remote == other.remote)
    }

    /// An agent's own hook told of its session: it is known from then on, with what the person typed.
    pub(super) fn hook_reported(&mut self, agent: &str, report: &HookReport) -> Answer<Reply> {
        // A conversation that the loop began is that session still, wherever the person goes on with it (SES-01): what a turn of it
        // asked stays its own.
        let known = match self.tx.hooked_session(agent, &report.remote)? {
            Some(row) => Some(row),
            None => self.tx.managed_conversation(&report.remote)?,
        };
        let session = match known {
            Some(row) => row,
            None => {
                let row = SessionRow {
                    id: SessionId::draw(self.ids),
                    agent: agent.to_owned(),
                    manager: "hook".to_owned(),
                    state: "active".to_owned(),
                    folder: report.folder.clone(),
                    remote: Some(report.remote.clone()),
                    created_at: self.now,
                };
                self.tx.insert_session(&row)?;
                let data = json!({ "session": row.id.to_string(), "agent": agent, "folder": row.folder });
                self.event(NewEvent { data, ..event(EventKind::SessionOpened, agent) })?;
                row
            }
        };
        let state = match report.event {
            HookEvent::SessionEnd => "dormant",
            HookEvent::SessionStart | HookEvent::UserPromptSubmit | HookEvent::Stop => "active",
        };
        // One that the person closed stays so until it is used again.
        let stays = session.state == "closed" && matches!(report.event, HookEvent::Stop | HookEvent::SessionEnd);
        if session.state != state && !stays {
            self.tx.set_session_state(session.id, state)?;
        }
        let typed = report.event == HookEvent::UserPromptSubmit;
        self.tx.put_hooked(session.id, typed, typed, self.now)?;
        if typed {
            self.tx.person_typed(session.id, self.now)?;
        }
        Ok(Reply::Session(session.id))
    }

    fn a_session(&self, id: SessionId) -> Answer<SessionRow> {
        let found = self.tx.session(id)?;
        found.ok_or_else(|| {
            Refusal::new(RefusalKind::NotFound, format!("there is no session `{}`; `wloop sessions` lists them", short(id)))
                .into()
        })
    }

    /// Closes a session for good, unless it is in use (SES-10).
    pub(super) fn close_session(&mut self, id: SessionId) -> Answer<Reply> {
        let row = self.a_session(id)?;
        let closing = Closing {
            closed: row.state == "closed",
            turn_runs: self.tx.turn_runs_in(id)?,
            works: self.tx.hooked(id)?.is_some_and(|hooked| hooked.works),
            person_typed: self.tx.newest_prompt(id, true)?.map(|prompt| prompt.at),
            now: self.now,
        };
        may_close(&closing)
            .map_err(|why| Refusal::new(RefusalKind::Conflict, format!("session {} is not closed: {why}", short(id))))?;
        self.tx.set_session_state(id, "closed")?;
        let data = json!({ "session": id.to_string(), "agent": row.agent });
        self.event(NewEvent { data, actor: self.acting.clone(), ..event(EventKind::SessionClosed, row.agent.as_str()) })?;
        Ok(Reply::Session(id))
    }

    /// Nothing is typed into a session yet: a headless agent takes one prompt, and one of another's making is the person's to type into.
    pub(super) fn prompt_session(&mut self, id: SessionId) -> Answer<Reply> {
        let row = self.a_session(id)?;
        let why = if row.manager == "wloop" {
            "its agent runs headless, takes its prompt once and is not resumed; `wloop plan apply --guide` or `wloop review` gives the next \
             round your words"
        } else {
            "wloop did not start it; type into it where it runs"
        };
        Err(Refusal::new(RefusalKind::Conflict, format!("session {} takes no prompt: {why}", short(id))).into())
    }
}
