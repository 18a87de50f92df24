-- Times are milliseconds since 1970 in UTC. Ids are 32 hexadecimal digits. A unit is written provider:key.
-- The machines of the specification stand here again as checks, so that no code path can leave them.

CREATE TABLE home (
    only       INTEGER PRIMARY KEY CHECK (only = 1),
    generation INTEGER NOT NULL DEFAULT 0,      -- how often a daemon was started on this home
    last_now   INTEGER NOT NULL DEFAULT 0,      -- the latest time that was seen, to notice a clock set back
    stopped_at INTEGER                          -- set by a drain in order, cleared at the start
) STRICT;
INSERT INTO home (only) VALUES (1);

CREATE TABLE provider (
    name          TEXT PRIMARY KEY,
    viewer_id     TEXT,
    viewer_login  TEXT,
    viewer_kind   TEXT,
    teams         TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(teams)),
    skew_ms       INTEGER NOT NULL DEFAULT 0,
    last_sweep_at INTEGER,
    next_sweep_at INTEGER NOT NULL DEFAULT 0,
    next_slow_at  INTEGER NOT NULL DEFAULT 0,
    blocked_until INTEGER,                      -- a limit: no call before it
    signed_out    INTEGER NOT NULL DEFAULT 0 CHECK (signed_out IN (0, 1)),
    error         TEXT
) STRICT;

CREATE TABLE unit (
    id            TEXT PRIMARY KEY CHECK (id LIKE '%_:_%'),
    label         TEXT NOT NULL,
    title         TEXT NOT NULL,
    url           TEXT NOT NULL,
    watched       INTEGER NOT NULL CHECK (watched IN (0, 1)),
    first_seen_at INTEGER NOT NULL
) STRICT;

CREATE TABLE pull_request (
    unit         TEXT PRIMARY KEY REFERENCES unit (id),
    repo         TEXT NOT NULL,
    number       INTEGER NOT NULL,
    reasons      TEXT NOT NULL CHECK (json_valid(reasons)),
    summary      TEXT NOT NULL CHECK (json_valid(summary)),
    detail       TEXT CHECK (detail IS NULL OR json_valid(detail)),
    detail_at    INTEGER,
    wants_detail INTEGER NOT NULL DEFAULT 1 CHECK (wants_detail IN (0, 1)),
    read_after   INTEGER NOT NULL DEFAULT 0,    -- not read again before this, after a read that failed
    fault        TEXT,
    CHECK ((detail IS NULL) = (detail_at IS NULL))
) STRICT;
CREATE INDEX unit_watched ON unit (watched) WHERE watched = 1;
CREATE INDEX pull_request_by_name ON pull_request (repo COLLATE NOCASE, number);
CREATE INDEX pull_request_to_read ON pull_request (read_after) WHERE wants_detail = 1;

CREATE TABLE task (
    id          TEXT PRIMARY KEY CHECK (length(id) = 32),
    origin      TEXT NOT NULL CHECK (origin IN ('user', 'agent', 'loop', 'unit', 'service')),
    kind        TEXT NOT NULL,
    title       TEXT NOT NULL CHECK (length(title) BETWEEN 1 AND 300),
    category    TEXT NOT NULL CHECK (category IN ('inbox', 'ready', 'active', 'waiting', 'deferred', 'done', 'dropped')),
    gate_holder INTEGER NOT NULL CHECK (gate_holder IN (0, 1)),
    created_at  INTEGER NOT NULL,
    ended_at    INTEGER,
    CHECK ((category IN ('done', 'dropped')) = (ended_at IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX task_short ON task (substr(id, 1, 6));

CREATE TABLE task_unit (
    task TEXT NOT NULL REFERENCES task (id),
    unit TEXT NOT NULL REFERENCES unit (id),
    how  TEXT NOT NULL CHECK (how IN ('captured', 'derived', 'attached')),
    PRIMARY KEY (task, unit)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_unit_by_unit ON task_unit (unit);

CREATE TABLE gate (
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
    CHECK ((status = 'open') = (closed_at IS NULL)),
    CHECK ((status = 'open') = (closed_actor IS NULL)),
    -- A resolution names its intent; what is superseded has none, and nothing follows from it.
    CHECK ((status IN ('approved', 'rejected', 'answered', 'dismissed')) = (closed_intent IS NOT NULL)),
    CHECK ((status IN ('approved', 'rejected', 'answered', 'dismissed')) = (consequence IS NOT NULL)),
    CHECK ((consequence IS NULL) = (consequence_at IS NULL)),
    -- A rule or a window only ever approves, and never what only the person decides.
    CHECK (closed_actor NOT IN ('rule', 'window') OR (status = 'approved' AND kind NOT IN ('trust', 'post', 'question'))),
    -- Nobody else resolves.
    CHECK (closed_actor NOT IN ('session', 'workflow', 'daemon', 'provider') OR status = 'superseded')
) STRICT;
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

CREATE TABLE plan_item (
    id         TEXT PRIMARY KEY CHECK (length(id) = 32),
    unit       TEXT NOT NULL REFERENCES unit (id),
    workflow   TEXT NOT NULL,
    key        TEXT NOT NULL,
    intent     TEXT NOT NULL,
    stage      TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('waiting', 'counting_down', 'released', 'capped', 'blocked', 'turned', 'handled', 'gone')),
    gate       TEXT NOT NULL REFERENCES gate (id),
    head       TEXT NOT NULL,
    reason     TEXT NOT NULL,
    by_hand    INTEGER NOT NULL CHECK (by_hand IN (0, 1)),
    try_after  INTEGER NOT NULL DEFAULT 0,
    planned_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX one_pending_item ON plan_item (unit, workflow)
    WHERE state IN ('waiting', 'counting_down', 'released', 'capped', 'blocked');
CREATE UNIQUE INDEX item_by_gate ON plan_item (gate);

CREATE TABLE handled (
    unit     TEXT NOT NULL REFERENCES unit (id),
    workflow TEXT NOT NULL,
    key      TEXT NOT NULL,
    how      TEXT NOT NULL CHECK (how IN ('ran', 'skipped')),
    at       INTEGER NOT NULL,
    PRIMARY KEY (unit, workflow, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE session (
    id         TEXT PRIMARY KEY CHECK (length(id) = 32),
    agent      TEXT NOT NULL,
    manager    TEXT NOT NULL CHECK (manager IN ('wloop', 'hook')),
    state      TEXT NOT NULL CHECK (state IN ('active', 'dormant', 'closed')),
    folder     TEXT NOT NULL,
    remote     TEXT,                             -- the agent's own id of the conversation
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE turn (
    id             TEXT PRIMARY KEY CHECK (length(id) = 32),
    unit           TEXT NOT NULL REFERENCES unit (id),
    seq            INTEGER NOT NULL,
    intent         TEXT NOT NULL,
    intent_version TEXT NOT NULL,
    stage          TEXT NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('starting', 'sent', 'started', 'asked', 'recorded', 'failed', 'dismissed', 'unrecorded')),
    started_by     TEXT NOT NULL CHECK (started_by IN ('hand', 'loop')),
    workflow       TEXT NOT NULL,
    item           TEXT NOT NULL REFERENCES plan_item (id),
    gate           TEXT NOT NULL REFERENCES gate (id),  -- every turn has a resolution before it (CONS-01)
    session        TEXT NOT NULL REFERENCES session (id),
    agent          TEXT NOT NULL,
    head           TEXT NOT NULL,
    base           TEXT NOT NULL,
    merge_base     TEXT,
    covered        TEXT NOT NULL CHECK (json_valid(covered)),
    guidance       TEXT,
    workspace      TEXT,
    generation     INTEGER NOT NULL,                    -- the daemon that wrote it
    claimed        INTEGER NOT NULL DEFAULT 0 CHECK (claimed IN (0, 1)),
    pid            INTEGER,
    pid_start      TEXT,
    pgid           INTEGER,
    group_ended    INTEGER NOT NULL DEFAULT 0 CHECK (group_ended IN (0, 1)),
    cancel_by      TEXT,
    created_at     INTEGER NOT NULL,
    sent_at        INTEGER,
    started_at     INTEGER,
    ended_at       INTEGER,
    verdict        TEXT,
    record         TEXT CHECK (record IS NULL OR json_valid(record)),
    cause          TEXT NOT NULL DEFAULT '',
    CHECK ((state IN ('recorded', 'failed', 'dismissed', 'unrecorded')) = (ended_at IS NOT NULL)),
    CHECK (state <> 'recorded' OR record IS NOT NULL),
    CHECK ((pid IS NULL) = (pid_start IS NULL) AND (pid IS NULL) = (pgid IS NULL))
) STRICT;
CREATE UNIQUE INDEX turn_seq ON turn (unit, seq);
CREATE UNIQUE INDEX one_open_turn ON turn (unit) WHERE state IN ('starting', 'sent', 'started', 'asked');
CREATE INDEX turn_open ON turn (state) WHERE state IN ('starting', 'sent', 'started', 'asked');
CREATE INDEX turn_given ON turn (sent_at) WHERE sent_at IS NOT NULL;
CREATE INDEX turn_by_age ON turn (created_at);
CREATE INDEX turn_by_session ON turn (session);
CREATE INDEX turn_group ON turn (group_ended) WHERE pid IS NOT NULL AND group_ended = 0;
CREATE TRIGGER turn_stays_ended BEFORE UPDATE OF state, ended_at ON turn
WHEN OLD.ended_at IS NOT NULL BEGIN SELECT RAISE(ABORT, 'an ended turn never changes'); END;
CREATE TRIGGER turn_keeps_its_pins BEFORE UPDATE OF unit, seq, intent, stage, gate, head, base, covered ON turn
BEGIN SELECT RAISE(ABORT, 'a turn keeps its pins'); END;

CREATE TABLE guidance (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    unit    TEXT NOT NULL REFERENCES unit (id),
    text    TEXT NOT NULL,
    kept_at INTEGER NOT NULL,
    offered INTEGER NOT NULL DEFAULT 0 CHECK (offered IN (0, 1)),  -- came too late: shown, never handed over unasked
    turn    TEXT REFERENCES turn (id)                              -- the turn it was taken for
) STRICT;
CREATE INDEX guidance_by_unit ON guidance (unit);

CREATE TABLE post (
    id                 TEXT PRIMARY KEY CHECK (length(id) = 32),
    unit               TEXT NOT NULL REFERENCES unit (id),
    turn               TEXT REFERENCES turn (id),
    gate               TEXT NOT NULL REFERENCES gate (id),  -- what holds it, or released it
    shape              TEXT NOT NULL CHECK (shape IN ('review', 'comment', 'reply')),
    event              TEXT CHECK (event IN ('APPROVE', 'REQUEST_CHANGES', 'COMMENT')),
    in_reply_to        INTEGER,
    text               TEXT NOT NULL,                       -- as proposed, without signature and marker
    body               TEXT NOT NULL,                       -- as it goes out
    comments           TEXT NOT NULL CHECK (json_valid(comments)),
    mentions           TEXT NOT NULL CHECK (json_valid(mentions)),
    moved              TEXT NOT NULL CHECK (json_valid(moved)),  -- places whose comments went from the diff into the text
    head               TEXT NOT NULL,
    state              TEXT NOT NULL CHECK (state IN ('held', 'queued', 'sending', 'sent', 'failed', 'dropped')),
    maybe_posted       INTEGER NOT NULL DEFAULT 0 CHECK (maybe_posted IN (0, 1)),
    remote_node_id     TEXT,
    remote_database_id INTEGER,
    url                TEXT,
    cause              TEXT NOT NULL DEFAULT '',
    started_at         INTEGER,                             -- of the first attempt
    doubt_at           INTEGER,
    look_ups           INTEGER NOT NULL DEFAULT 0,
    complete_look_ups  INTEGER NOT NULL DEFAULT 0,
    next_at            INTEGER,                             -- the next look-up of a doubt, or not to be tried before
    send_if_absent     INTEGER NOT NULL DEFAULT 0 CHECK (send_if_absent IN (0, 1)),  -- the person asked to send again
    created_at         INTEGER NOT NULL,
    changed_at         INTEGER NOT NULL,
    CHECK ((shape = 'review') = (event IS NOT NULL)),
    CHECK ((shape = 'reply') = (in_reply_to IS NOT NULL)),
    CHECK (state NOT IN ('sending', 'sent') OR started_at IS NOT NULL),
    CHECK (remote_node_id IS NULL OR state = 'sent')
) STRICT;
CREATE INDEX post_moving ON post (state) WHERE state IN ('queued', 'sending', 'failed', 'held');
CREATE INDEX post_by_age ON post (created_at);
CREATE INDEX post_by_unit ON post (unit);
CREATE INDEX post_by_turn ON post (turn);
CREATE UNIQUE INDEX post_remote ON post (remote_node_id) WHERE remote_node_id IS NOT NULL;
-- One review of a turn that may stand at the provider.
CREATE UNIQUE INDEX one_review_of_a_turn ON post (turn)
    WHERE shape = 'review' AND turn IS NOT NULL AND (state IN ('held', 'queued', 'sending', 'sent') OR maybe_posted = 1) AND state <> 'dropped';
CREATE TRIGGER post_stays_sent BEFORE UPDATE OF state, text, body, comments ON post
WHEN OLD.state IN ('sent', 'dropped') AND (NEW.state IS NOT OLD.state OR NEW.text IS NOT OLD.text OR NEW.body IS NOT OLD.body
    OR NEW.comments IS NOT OLD.comments) BEGIN SELECT RAISE(ABORT, 'a sent or dropped post never changes'); END;
-- What goes out has a resolution before it.
CREATE TRIGGER post_needs_its_release BEFORE UPDATE OF state, gate ON post
WHEN NEW.state IN ('queued', 'sending', 'sent') AND NOT EXISTS (
    SELECT 1 FROM gate WHERE gate.id = NEW.gate AND gate.status IN ('approved', 'answered'))
BEGIN SELECT RAISE(ABORT, 'a post needs its release'); END;
CREATE TRIGGER post_born_released BEFORE INSERT ON post
WHEN NEW.state IN ('queued', 'sending', 'sent') AND NOT EXISTS (
    SELECT 1 FROM gate WHERE gate.id = NEW.gate AND gate.status IN ('approved', 'answered'))
BEGIN SELECT RAISE(ABORT, 'a post needs its release'); END;

CREATE TABLE post_attempt (
    post       TEXT NOT NULL REFERENCES post (id),
    n          INTEGER NOT NULL,
    generation INTEGER NOT NULL,                 -- the daemon whose call it is
    started_at INTEGER NOT NULL,
    ended_at   INTEGER,
    result     TEXT CHECK (result IN ('sent', 'refused', 'wait', 'not_reached', 'doubt', 'lost')),
    detail     TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (post, n),
    CHECK ((ended_at IS NULL) = (result IS NULL))
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX one_call_in_flight ON post_attempt (post) WHERE ended_at IS NULL;

CREATE TABLE tool_call (
    turn      TEXT NOT NULL REFERENCES turn (id),
    tool      TEXT NOT NULL,
    key       TEXT NOT NULL,                     -- the caller's, else a hash of the arguments
    arguments TEXT NOT NULL,                     -- their hash
    post      TEXT REFERENCES post (id),
    answer    TEXT CHECK (answer IS NULL OR json_valid(answer)),
    at        INTEGER NOT NULL,
    PRIMARY KEY (turn, tool, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE mark (
    unit  TEXT NOT NULL REFERENCES unit (id),
    name  TEXT NOT NULL,
    value TEXT NOT NULL CHECK (json_valid(value)),
    turn  TEXT REFERENCES turn (id),
    at    INTEGER NOT NULL,
    PRIMARY KEY (unit, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE effect (
    turn  TEXT NOT NULL REFERENCES turn (id),
    name  TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('declared', 'due', 'applied', 'void')),
    at    INTEGER NOT NULL,
    PRIMARY KEY (turn, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX effect_due ON effect (at) WHERE state = 'due';
CREATE TRIGGER effect_applies_once BEFORE UPDATE OF state ON effect
WHEN OLD.state IN ('applied', 'void') BEGIN SELECT RAISE(ABORT, 'an effect applies once'); END;

CREATE TABLE event (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    at          INTEGER NOT NULL,
    kind        TEXT NOT NULL,
    class       TEXT NOT NULL CHECK (class IN ('posted', 'decided', 'done', 'moved', 'inner')),
    key         TEXT NOT NULL,
    data        TEXT NOT NULL CHECK (json_valid(data)),
    unit        TEXT REFERENCES unit (id),
    task        TEXT REFERENCES task (id),
    gate        TEXT REFERENCES gate (id),
    turn        TEXT REFERENCES turn (id),
    post        TEXT REFERENCES post (id),
    actor       TEXT NOT NULL CHECK (actor IN ('person', 'session', 'rule', 'window', 'workflow', 'daemon', 'provider')),
    actor_ref   TEXT,
    via_session TEXT
) STRICT;
CREATE INDEX event_by_unit ON event (unit, id);
CREATE INDEX event_to_remove ON event (class, at) WHERE class IN ('done', 'moved', 'inner');
CREATE TRIGGER event_is_not_changed BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'the record is only added to'); END;
CREATE TRIGGER event_is_not_removed BEFORE DELETE ON event WHEN OLD.class IN ('posted', 'decided')
BEGIN SELECT RAISE(ABORT, 'the record is only added to'); END;
