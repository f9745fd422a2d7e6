-- beside: 2
--
-- The feeds of workspaces: what was changed, in the order of the commits. last is the
-- greatest id that was issued; those up to forgotten are not kept. Of a workspace that
-- has rows already the first event would tell of these: it is one that is not kept.

CREATE TABLE feeds (
  workspace bigint PRIMARY KEY,
  last      bigint NOT NULL,
  forgotten bigint NOT NULL
) WITH (fillfactor = 50);
INSERT INTO feeds (workspace, last, forgotten) SELECT workspace, 0, 1 FROM counters WHERE pets + categories + orders > 0;

CREATE TABLE events (
  workspace bigint NOT NULL,
  id        bigint NOT NULL,
  type      text NOT NULL,
  at        bigint NOT NULL,
  request   text NOT NULL, -- '' for a command
  data      text NOT NULL,
  previous  text NOT NULL, -- '' unless it is an update
  PRIMARY KEY (workspace, id)
);
