-- A draft is a post that was proposed under a draft gate; how far its delivery is stands in the post's row. Every text that was
-- ever asked about is kept beside the gate that asked, so that the record shows what was approved.

CREATE TABLE draft (
    id         TEXT PRIMARY KEY REFERENCES post (id),
    purpose    TEXT NOT NULL DEFAULT '',
    delivery   TEXT NOT NULL CHECK (delivery IN ('comment', 'message', 'reaction', 'edit', 'deletion')),
    broadcast  INTEGER NOT NULL DEFAULT 0 CHECK (broadcast IN (0, 1)),
    task       TEXT REFERENCES task (id),
    proposer   TEXT NOT NULL CHECK (proposer IN ('person', 'session', 'workflow', 'rule')),
    proposer_name TEXT NOT NULL DEFAULT '',      -- the intent, workflow or plugin rule
    session    TEXT REFERENCES session (id),     -- the session that proposed it never resolves its gate, edited or not
    turn       TEXT REFERENCES turn (id),
    key        TEXT,                             -- the person's own name for the proposal: once more is the same draft
    reason     TEXT NOT NULL DEFAULT '',         -- why it was dropped
    edited_at  INTEGER,                          -- when the person last edited it
    CHECK ((proposer = 'session') = (session IS NOT NULL)),
    CHECK ((turn IS NULL) OR (session IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX draft_by_key ON draft (key) WHERE key IS NOT NULL;
CREATE INDEX draft_by_task ON draft (task) WHERE task IS NOT NULL;
CREATE INDEX draft_by_turn ON draft (turn) WHERE turn IS NOT NULL;

CREATE TABLE draft_revision (
    draft    TEXT NOT NULL REFERENCES draft (id),
    n        INTEGER NOT NULL,
    gate     TEXT NOT NULL UNIQUE REFERENCES gate (id),
    text     TEXT NOT NULL,
    mentions TEXT NOT NULL CHECK (json_valid(mentions)),
    at       INTEGER NOT NULL,
    PRIMARY KEY (draft, n)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER draft_revision_is_kept BEFORE DELETE ON draft_revision
BEGIN SELECT RAISE(ABORT, 'what was asked about is kept'); END;
CREATE TRIGGER draft_revision_never_changes BEFORE UPDATE ON draft_revision
BEGIN SELECT RAISE(ABORT, 'what was asked about never changes'); END;

CREATE TABLE draft_effect (
    draft TEXT NOT NULL REFERENCES draft (id),
    name  TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('declared', 'due', 'applied', 'void')),
    at    INTEGER NOT NULL,
    PRIMARY KEY (draft, name)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER draft_effect_applies_once BEFORE UPDATE OF state ON draft_effect
WHEN OLD.state IN ('applied', 'void') BEGIN SELECT RAISE(ABORT, 'an effect applies once'); END;
CREATE TRIGGER draft_effect_needs_its_post BEFORE UPDATE OF state ON draft_effect
WHEN NEW.state = 'applied' AND NOT EXISTS (SELECT 1 FROM post WHERE post.id = NEW.draft AND post.state = 'sent')
BEGIN SELECT RAISE(ABORT, 'an effect needs its post'); END;

-- A draft is born held.
CREATE TRIGGER draft_is_born_held BEFORE INSERT ON draft
WHEN NOT EXISTS (SELECT 1 FROM post WHERE post.id = NEW.id AND post.state = 'held' AND post.turn IS NULL)
BEGIN SELECT RAISE(ABORT, 'a draft is born held'); END;
-- What goes out is the text that its gate asked about, and that gate was approved.
CREATE TRIGGER draft_goes_as_it_was_approved BEFORE UPDATE OF state, gate, text ON post
WHEN NEW.state IN ('queued', 'sending', 'sent') AND EXISTS (SELECT 1 FROM draft WHERE draft.id = NEW.id) AND NOT EXISTS (
    SELECT 1 FROM draft_revision JOIN gate ON gate.id = draft_revision.gate
    WHERE draft_revision.draft = NEW.id AND draft_revision.gate = NEW.gate AND draft_revision.text = NEW.text
        AND gate.kind = 'draft' AND gate.status = 'approved')
BEGIN SELECT RAISE(ABORT, 'a draft goes as it was approved'); END;
-- Only a held draft is edited, and the edit has a gate of its own.
CREATE TRIGGER draft_is_edited_held BEFORE UPDATE OF text, gate ON post
WHEN (NEW.text IS NOT OLD.text OR NEW.gate IS NOT OLD.gate) AND EXISTS (SELECT 1 FROM draft WHERE draft.id = NEW.id)
    AND (OLD.state <> 'held' OR NEW.gate IS OLD.gate)
BEGIN SELECT RAISE(ABORT, 'only a held draft is edited, under a new gate'); END;
