-- A rule may discard a draft as a dry run: the gate's table is made anew for that, with the same rows, indexes and triggers.
CREATE TABLE gate_rebuilt (
    id               TEXT PRIMARY KEY CHECK (length(id) = 32),
    kind             TEXT NOT NULL CHECK (kind IN ('draft', 'plan', 'question', 'post', 'proposal', 'trust', 'step')),
    name             TEXT NOT NULL,
    status           TEXT NOT NULL CHECK (status IN ('open', 'approved', 'rejected', 'answered', 'dismissed', 'superseded')),
    unit             TEXT REFERENCES unit (id),
    task             TEXT REFERENCES task (id),
    words            TEXT NOT NULL,
    intents          TEXT NOT NULL CHECK (json_valid(intents)),
    ends_task        TEXT NOT NULL CHECK (json_valid(ends_task)),
    default_intent   TEXT,
    opened_at        INTEGER NOT NULL,
    deadline         INTEGER,
    policy           TEXT NOT NULL,
    explanation      TEXT NOT NULL CHECK (json_valid(explanation)),
    turn             TEXT REFERENCES turn (id),  -- the turn that stopped here
    closed_intent    TEXT,
    closed_actor     TEXT CHECK (closed_actor IN ('person', 'session', 'rule', 'window', 'workflow', 'daemon', 'provider')),
    closed_ref       TEXT,
    closed_via       TEXT,
    closed_text      TEXT,
    closed_reason    TEXT NOT NULL DEFAULT '',
    closed_at        INTEGER,
    consequence      TEXT CHECK (consequence IN ('due', 'started', 'ran', 'failed', 'unknown')),
    consequence_at   INTEGER,
    consequence_note TEXT NOT NULL DEFAULT '',
    seen_at          INTEGER,
    CHECK ((status = 'open') = (closed_at IS NULL)),
    CHECK ((status = 'open') = (closed_actor IS NULL)),
    -- A resolution names its intent; what is superseded has none, and nothing follows from it.
    CHECK ((status IN ('approved', 'rejected', 'answered', 'dismissed')) = (closed_intent IS NOT NULL)),
    CHECK ((status IN ('approved', 'rejected', 'answered', 'dismissed')) = (consequence IS NOT NULL)),
    CHECK ((consequence IS NULL) = (consequence_at IS NULL)),
    -- A rule or a window only ever approves, and never what only the person decides; a rule may also discard a draft, as a dry run.
    CHECK (closed_actor NOT IN ('rule', 'window') OR (status = 'approved' AND kind NOT IN ('trust', 'post', 'question'))
        OR (closed_actor = 'rule' AND status = 'rejected' AND kind = 'draft')),
    -- Nobody else resolves.
    CHECK (closed_actor NOT IN ('session', 'workflow', 'daemon', 'provider') OR status = 'superseded')
) STRICT;

INSERT INTO gate_rebuilt (id, kind, name, status, unit, task, words, intents, ends_task, default_intent, opened_at, deadline, policy, explanation,
    turn, closed_intent, closed_actor, closed_ref, closed_via, closed_text, closed_reason, closed_at, consequence,
    consequence_at, consequence_note, seen_at)
SELECT id, kind, name, status, unit, task, words, intents, ends_task, default_intent, opened_at, deadline, policy, explanation,
    turn, closed_intent, closed_actor, closed_ref, closed_via, closed_text, closed_reason, closed_at, consequence,
    consequence_at, consequence_note, seen_at FROM gate;

DROP TABLE gate;
-- Triggers of other tables name `gate`, which is not there for a moment.
PRAGMA legacy_alter_table = ON;
ALTER TABLE gate_rebuilt RENAME TO gate;
PRAGMA legacy_alter_table = OFF;

CREATE INDEX gate_open ON gate (deadline) WHERE status = 'open';
CREATE INDEX gate_due ON gate (consequence) WHERE consequence IN ('due', 'started', 'failed', 'unknown');
CREATE INDEX gate_by_unit ON gate (unit);
CREATE INDEX gate_by_task ON gate (task);

CREATE TRIGGER gate_stays_closed
BEFORE UPDATE OF status, closed_intent, closed_actor, closed_ref, closed_via, closed_text, closed_reason, closed_at ON gate
WHEN OLD.status <> 'open' BEGIN SELECT RAISE(ABORT, 'a closed gate never changes'); END;
CREATE TRIGGER gate_keeps_its_words BEFORE UPDATE OF kind, name, words, intents, opened_at ON gate
BEGIN SELECT RAISE(ABORT, 'a gate keeps its words'); END;
CREATE TRIGGER gate_is_kept BEFORE DELETE ON gate BEGIN SELECT RAISE(ABORT, 'a gate is kept for good'); END;
CREATE TRIGGER consequence_runs_once BEFORE UPDATE OF consequence ON gate
WHEN OLD.consequence IN ('ran', 'unknown') AND NEW.consequence IS NOT OLD.consequence
BEGIN SELECT RAISE(ABORT, 'a consequence runs once'); END;
CREATE TRIGGER capped_is_the_persons BEFORE UPDATE OF status ON gate
WHEN NEW.closed_actor IN ('rule', 'window') AND EXISTS (SELECT 1 FROM plan_item WHERE gate = OLD.id AND cap IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'what the cap held is the person''s'); END;
CREATE TRIGGER capped_has_no_window BEFORE UPDATE OF deadline ON gate
WHEN NEW.deadline IS NOT NULL AND EXISTS (SELECT 1 FROM plan_item WHERE gate = OLD.id AND cap IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'what the cap held has no window'); END;

-- When the person last asked for a failed post to be sent again: from then on it goes by their word, whatever let it out before.
ALTER TABLE post ADD COLUMN retried_at INTEGER;
