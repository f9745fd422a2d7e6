-- beside: 2
--
-- An index of names that needs no extension, and reads no more of it than the search
-- needs. It knows each three characters in a row of a name, hashed with the workspace
-- and the segment of 65,536 ids: a search goes from one segment to the next until its
-- page is full. Changes of pets wait while it is made. Nodes of the version before
-- test name by name from now on.

CREATE FUNCTION name_parts(workspace bigint, segment bigint, folded text) RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT array_agg(hashtextextended(substr(folded, n, 3), (workspace << 32) # segment)) FROM generate_series(1, length(folded) - 2) n
$$;

CREATE INDEX pet_names_by_parts ON pet_names USING gin (name_parts(workspace, id >> 16, folded)) WITH (gin_pending_list_limit = 128);

DROP INDEX IF EXISTS pet_names_by_part;

-- The extensions of the index before go, if it was a migration that created them.
DO $$
DECLARE
  unused name;
BEGIN
  FOR unused IN SELECT extname FROM pg_extension WHERE extname IN ('pg_trgm', 'btree_gin') AND extnamespace = 'petstore'::regnamespace LOOP
    EXECUTE format('DROP EXTENSION %I', unused);
  END LOOP;
EXCEPTION WHEN insufficient_privilege OR dependent_objects_still_exist THEN
  NULL;
END $$;
