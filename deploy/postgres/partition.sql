-- Divides the tables of a Petstore into 16 partitions each, by hash of the workspace. docs/growth.md says
-- when that pays. Stop the nodes, back up, and run it once, as the owner of the tables:
--
--   psql --single-transaction -v ON_ERROR_STOP=1 -f partition.sql shop
--
-- It copies the rows: there must be room for them twice. Rows keep their ids, and nodes, migrations and
-- commands go on as before. PostgreSQL itself gathers no statistics of divided tables as wholes: have it run
-- "ANALYZE" once a day.

SET LOCAL search_path = petstore, public;

-- Every table whose primary key begins with the workspace.
CREATE TEMPORARY TABLE divided ON COMMIT DROP AS
  SELECT c.oid, c.relname AS name, 'WITH (' || array_to_string(c.reloptions, ', ') || ')' AS options
  FROM pg_constraint p JOIN pg_class c ON c.oid = p.conrelid
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = p.conkey[1]
  WHERE p.contype = 'p' AND c.relnamespace = 'petstore'::regnamespace AND c.relkind = 'r' AND NOT c.relispartition AND a.attname = 'workspace';

-- What is lost with the old tables, as the statements that make it again: keys, then foreign keys and indexes.
CREATE TEMPORARY TABLE again ON COMMIT DROP AS
  SELECT contype = 'f' AS late, format('ALTER TABLE %I ADD CONSTRAINT %I %s', d.name, conname, pg_get_constraintdef(o.oid)) AS statement
  FROM divided d JOIN pg_constraint o ON o.conrelid = d.oid WHERE contype IN ('p', 'u', 'c', 'f')
  UNION ALL
  SELECT true, pg_get_indexdef(i.indexrelid) FROM divided d JOIN pg_index i ON i.indrelid = d.oid
  WHERE NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = i.indexrelid AND conrelid = d.oid);

DO $$
DECLARE
  parts CONSTANT integer := 16;
  old record;
  columns text;
  made record;
BEGIN
  FOR old IN SELECT * FROM divided LOOP
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING GENERATED) PARTITION BY HASH (workspace)', 'new_' || old.name, old.name);
    FOR part IN 0 .. parts - 1 LOOP
      EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS %s, REMAINDER %s) %s',
        old.name || '_' || part, 'new_' || old.name, parts, part, old.options);
    END LOOP;
    SELECT string_agg(quote_ident(attname), ', ') INTO columns FROM pg_attribute
      WHERE attrelid = old.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '';
    EXECUTE format('INSERT INTO %I (%s) SELECT %s FROM %I', 'new_' || old.name, columns, columns, old.name);
    EXECUTE format('DROP TABLE %I CASCADE', old.name);
    EXECUTE format('ALTER TABLE %I RENAME TO %I', 'new_' || old.name, old.name);
  END LOOP;
  FOR made IN SELECT statement FROM again ORDER BY late LOOP
    EXECUTE made.statement;
  END LOOP;
END $$;
ANALYZE;
