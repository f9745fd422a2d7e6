-- Where to look for a part of a name. A segment is a run of a workspace's animals
-- in the order of their ids, from first to last; it has 64 blocks, which share
-- its ids evenly. Animals behind the last segment are not indexed yet.

CREATE TABLE name_segments (
  workspace INTEGER NOT NULL,
  number    INTEGER NOT NULL, -- from 0 on
  first     INTEGER NOT NULL,
  last      INTEGER NOT NULL CHECK (last >= first),
  builder   INTEGER NOT NULL, -- 0, or what who is indexing its names has drawn
  PRIMARY KEY (workspace, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX name_segments_by_last ON name_segments (workspace, last);

-- In which parts of a node some name may have the gram, a part of one, two or
-- three letters: a bit for each block of a segment (level 2, the node is its
-- number), for each of 64 segments (level 1), for each of 64 nodes of these (level 0).
-- A row has a bit in the level above. The lowest level comes last, since it grows.
CREATE TABLE name_grams (
  workspace INTEGER NOT NULL,
  level     INTEGER NOT NULL,
  node      INTEGER NOT NULL,
  gram      TEXT NOT NULL,
  bits      INTEGER NOT NULL,
  PRIMARY KEY (workspace, level, node, gram)
) STRICT, WITHOUT ROWID;
