-- What stops rounds: the person's pauses and mutes, trust and what agents ask before they start, and the daily cap.

CREATE TABLE hold (
    unit  TEXT NOT NULL CHECK (unit = '' OR unit LIKE '%_:_%'),  -- empty for everything
    kind  TEXT NOT NULL CHECK (kind IN ('pause', 'mute')),
    until INTEGER,                                               -- by itself over then
    since INTEGER NOT NULL,
    PRIMARY KEY (unit, kind)
) STRICT, WITHOUT ROWID;

-- An agent may run in a repository; the name in small letters, since the provider does not tell letters apart.
CREATE TABLE trust (
    agent  TEXT NOT NULL CHECK (agent <> ''),
    repo   TEXT NOT NULL CHECK (repo LIKE '_%/_%' AND repo = lower(repo)),
    at     INTEGER NOT NULL,
    gate   TEXT REFERENCES gate (id),                            -- none where a home was made with it, as the demo's is
    folder TEXT NOT NULL,
    PRIMARY KEY (agent, repo)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER trust_is_the_persons BEFORE INSERT ON trust
WHEN NEW.gate IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM gate WHERE id = NEW.gate AND kind = 'trust' AND status = 'approved' AND closed_actor = 'person')
BEGIN SELECT RAISE(ABORT, 'only the person trusts'); END;

-- What keeps an agent from starting in a repository, on the trust gate that asks about it.
CREATE TABLE block (
    gate      TEXT PRIMARY KEY REFERENCES gate (id),
    unit      TEXT NOT NULL REFERENCES unit (id),                -- whose gate it is: the one that asks
    agent     TEXT NOT NULL CHECK (agent <> ''),
    repo      TEXT NOT NULL CHECK (repo LIKE '_%/_%' AND repo = lower(repo)),
    folder    TEXT NOT NULL,                                     -- empty where it is not about a folder
    homes     TEXT NOT NULL CHECK (json_valid(homes)),
    words     TEXT NOT NULL,                                     -- the agent's own
    kind      TEXT NOT NULL CHECK (kind IN ('first_run', 'folder', 'sign_in', 'other')),
    opened_at INTEGER NOT NULL,
    lifted_at INTEGER,
    CHECK (kind IN ('sign_in', 'other') OR folder <> '')
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX one_block ON block (agent, repo) WHERE lifted_at IS NULL;
CREATE TRIGGER block_asks_on_a_trust_gate BEFORE INSERT ON block
WHEN NOT EXISTS (SELECT 1 FROM gate WHERE id = NEW.gate AND kind = 'trust' AND status = 'open')
BEGIN SELECT RAISE(ABORT, 'a block asks on an open trust gate'); END;
CREATE TRIGGER block_stays_lifted BEFORE UPDATE ON block
WHEN OLD.lifted_at IS NOT NULL BEGIN SELECT RAISE(ABORT, 'a lifted block never changes'); END;

-- No agent runs in a repository where it is not trusted (RUN-32).
CREATE TRIGGER turn_needs_trust BEFORE INSERT ON turn
WHEN EXISTS (
    SELECT 1 FROM pull_request WHERE unit = NEW.unit AND NOT EXISTS (
        SELECT 1 FROM trust WHERE agent = NEW.agent AND trust.repo = lower(pull_request.repo)))
BEGIN SELECT RAISE(ABORT, 'a turn needs trust'); END;

-- A turn whose agent did not take the prompt because of a question of its own counts nowhere.
ALTER TABLE turn ADD COLUMN blocked INTEGER NOT NULL DEFAULT 0 CHECK (blocked IN (0, 1));
CREATE INDEX turn_of_the_loop ON turn (sent_at) WHERE started_by = 'loop' AND blocked = 0;

-- The person looked after a consequence that failed or cannot be told.
ALTER TABLE gate ADD COLUMN seen_at INTEGER;

-- Tasks that were made for gates and have not ended: a start looks through them.
CREATE INDEX task_of_gates ON task (created_at) WHERE gate_holder = 1 AND ended_at IS NULL;

-- Which cap holds, or held, a round, and on which local day (YYYY-MM-DD).
ALTER TABLE plan_item ADD COLUMN cap TEXT CHECK (cap IN ('per_day', 'per_pull_request', 'workflow'));
ALTER TABLE plan_item ADD COLUMN cap_day TEXT
    CHECK ((cap IS NULL) = (cap_day IS NULL)) CHECK (state <> 'capped' OR cap_day IS NOT NULL) CHECK (cap_day LIKE '____-__-__');
-- What the cap held waits for the person, whatever any rule or window says (WIN-28).
CREATE TRIGGER capped_is_the_persons BEFORE UPDATE OF status ON gate
WHEN NEW.closed_actor IN ('rule', 'window') AND EXISTS (SELECT 1 FROM plan_item WHERE gate = OLD.id AND cap IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'what the cap held is the person''s'); END;
CREATE TRIGGER capped_has_no_window BEFORE UPDATE OF deadline ON gate
WHEN NEW.deadline IS NOT NULL AND EXISTS (SELECT 1 FROM plan_item WHERE gate = OLD.id AND cap IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'what the cap held has no window'); END;
CREATE TRIGGER capped_is_born_open BEFORE INSERT ON plan_item
WHEN NEW.state = 'capped' AND NOT EXISTS (SELECT 1 FROM gate WHERE id = NEW.gate AND status = 'open' AND deadline IS NULL)
BEGIN SELECT RAISE(ABORT, 'what the cap holds waits on an open gate'); END;
CREATE TRIGGER capped_waits_open BEFORE UPDATE OF state, gate ON plan_item
WHEN NEW.state = 'capped' AND NOT EXISTS (SELECT 1 FROM gate WHERE id = NEW.gate AND status = 'open' AND deadline IS NULL)
BEGIN SELECT RAISE(ABORT, 'what the cap holds waits on an open gate'); END;
