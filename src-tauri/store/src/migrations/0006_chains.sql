-- Which workflows led to an event, the first first: empty for what no workflow caused. Its depth is its length.
ALTER TABLE event ADD COLUMN chain TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(chain) AND json_type(chain) = 'array');
