-- beside: 2
--
-- Links that signed somebody in: each does so once, on whichever node it is
-- opened and however often that restarts.

CREATE TABLE used_links (
  hash    bytea PRIMARY KEY CHECK (length(hash) = 32),
  ends_at bigint NOT NULL
);
