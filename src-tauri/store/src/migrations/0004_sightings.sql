-- When something of a pull request was first seen, by the clock of the provider that showed it (GH-SYNC-46).
ALTER TABLE pull_request ADD COLUMN seen_head TEXT NOT NULL DEFAULT '';
ALTER TABLE pull_request ADD COLUMN seen_head_at INTEGER CHECK ((seen_head = '') = (seen_head_at IS NULL));
ALTER TABLE pull_request ADD COLUMN conflict_since INTEGER;
