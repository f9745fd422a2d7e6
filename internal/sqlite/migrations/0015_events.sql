-- The feeds of workspaces: what was changed, in the order of the commits. last is the
-- greatest id that was issued; those up to forgotten are not kept. Of a workspace that
-- has rows already the first event would tell of these: it is one that is not kept.

CREATE TABLE feeds (
  workspace INTEGER PRIMARY KEY,
  last      INTEGER NOT NULL,
  forgotten INTEGER NOT NULL
) STRICT;
INSERT INTO feeds (workspace, last, forgotten) SELECT workspace, 0, 1 FROM counters WHERE pets + categories + orders > 0;

CREATE TABLE events (
  workspace INTEGER NOT NULL,
  id        INTEGER NOT NULL,
  type      TEXT NOT NULL,
  at        INTEGER NOT NULL,
  request   TEXT NOT NULL, -- '' for a command
  data      TEXT NOT NULL,
  previous  TEXT NOT NULL, -- '' unless it is an update
  PRIMARY KEY (workspace, id)
) STRICT, WITHOUT ROWID;
