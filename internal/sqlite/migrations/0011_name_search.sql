-- Where to look for a part of a name: SQLite's own full-text index of every three
-- letters that follow each other. A row is numbered by its workspace and its id. Two
-- marks behind each name let its last letters, too, begin a term, by which texts of
-- one or two letters are found. Merges go on little by little, never all at once.
DROP TABLE name_segments;
DROP TABLE name_grams;

CREATE VIEW indexed_names (number, name) AS
  SELECT (workspace << 40) + id, folded || char(1, 1) FROM pets WHERE workspace < 1 << 23 AND id < 1 << 40;
CREATE VIRTUAL TABLE pet_names USING fts5 (name, content='indexed_names', content_rowid='number',
  columnsize=0, detail=none, tokenize='trigram case_sensitive 1');
INSERT INTO pet_names (pet_names, rank) VALUES ('automerge', 8), ('crisismerge', 1999);
CREATE VIRTUAL TABLE pet_name_terms USING fts5vocab (pet_names, instance);

-- The last pet, by workspace and id, of those that are in the index: the others are
-- added in the background.
CREATE TABLE names_indexed (
  only      INTEGER PRIMARY KEY CHECK (only = 1),
  workspace INTEGER NOT NULL,
  pet       INTEGER NOT NULL
) STRICT;
INSERT INTO names_indexed (only, workspace, pet) VALUES (1, iif(EXISTS (SELECT 1 FROM pets), 0, 1 << 62), 0);
