-- What was typed into a session, and by whom. Whether a session acts for the person is read from this alone (SES-02, RES-06 to RES-09).
CREATE TABLE prompt (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL REFERENCES session (id),
    typist  TEXT NOT NULL CHECK (typist IN ('loop', 'person')),
    turn    TEXT REFERENCES turn (id),
    at      INTEGER NOT NULL,
    CHECK (typist = 'loop' OR turn IS NULL)
) STRICT;
CREATE INDEX prompt_by_session ON prompt (session, id);
-- A turn's prompt is given once, whatever crashes (K17).
CREATE UNIQUE INDEX one_prompt_of_a_turn ON prompt (turn) WHERE turn IS NOT NULL;
CREATE TRIGGER prompt_is_not_changed BEFORE UPDATE ON prompt BEGIN SELECT RAISE(ABORT, 'what was typed stays typed'); END;
CREATE TRIGGER prompt_is_not_removed BEFORE DELETE ON prompt BEGIN SELECT RAISE(ABORT, 'what was typed stays typed'); END;

-- What an agent's own hooks report of a session that the loop did not start (SES-03).
CREATE TABLE hooked (
    session         TEXT PRIMARY KEY REFERENCES session (id),
    reports_prompts INTEGER NOT NULL DEFAULT 0 CHECK (reports_prompts IN (0, 1)),  -- its agent told of a prompt at least once
    works           INTEGER NOT NULL DEFAULT 0 CHECK (works IN (0, 1)),            -- between a prompt and the agent's stop
    seen_at         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- One session for each of an agent's own conversations.
CREATE UNIQUE INDEX one_hooked_conversation ON session (agent, remote) WHERE manager = 'hook' AND remote IS NOT NULL;
