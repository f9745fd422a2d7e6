-- The index of names tells the halves of a block apart, and begins anew: it is filled
-- in the background.
DELETE FROM name_segments;
DROP TABLE name_grams;

-- In which parts of a node some name may have the gram, a part of one, two or
-- three letters. Of a segment (level 2, the node is its number) early has a bit for
-- the first half of each block's ids, late one for the second. Early has one for each of
-- 64 segments, too (level 1), and for each of 64 nodes of these (level 0). A row has a
-- bit in the level above. The lowest level comes last, since it grows.
CREATE TABLE name_grams (
  workspace INTEGER NOT NULL,
  level     INTEGER NOT NULL,
  node      INTEGER NOT NULL,
  gram      TEXT NOT NULL,
  early     INTEGER NOT NULL,
  late      INTEGER NOT NULL, -- 0 above the blocks
  PRIMARY KEY (workspace, level, node, gram)
) STRICT, WITHOUT ROWID;
