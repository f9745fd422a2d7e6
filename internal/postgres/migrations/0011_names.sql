-- beside: 2
--
-- The names of the pets, for the search by a part of them. They have a table of their
-- own, since an index of names on the table of pets would get a new entry whenever a
-- pet changes its status, as it does when its last unit is sold. Triggers fill it, so
-- nodes of the version before may go on.

CREATE TABLE pet_names (
  workspace bigint NOT NULL,
  id        bigint NOT NULL,
  folded    text COLLATE "C" NOT NULL,
  PRIMARY KEY (workspace, id)
);

CREATE FUNCTION keep_pet_names() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  CASE TG_OP
  WHEN 'INSERT' THEN
    INSERT INTO petstore.pet_names (workspace, id, folded) SELECT workspace, id, folded FROM added;
  WHEN 'DELETE' THEN
    DELETE FROM petstore.pet_names n USING removed r WHERE n.workspace = r.workspace AND n.id = r.id;
  WHEN 'UPDATE' THEN
    UPDATE petstore.pet_names SET folded = NEW.folded WHERE workspace = NEW.workspace AND id = NEW.id;
  WHEN 'TRUNCATE' THEN
    TRUNCATE petstore.pet_names;
  END CASE;
  RETURN NULL;
END $$;

CREATE TRIGGER add_names AFTER INSERT ON pets REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION keep_pet_names();
CREATE TRIGGER remove_names AFTER DELETE ON pets REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION keep_pet_names();
CREATE TRIGGER empty_names AFTER TRUNCATE ON pets FOR EACH STATEMENT EXECUTE FUNCTION keep_pet_names();
CREATE TRIGGER change_name AFTER UPDATE OF folded ON pets
  FOR EACH ROW WHEN (OLD.folded <> NEW.folded) EXECUTE FUNCTION keep_pet_names();

INSERT INTO pet_names (workspace, id, folded) SELECT workspace, id, folded FROM pets;

-- The index needs two extensions that come with PostgreSQL. Where they may not be
-- created names are tested one by one; docs/many-nodes.md says how to add it later.
DO $$
BEGIN
  CREATE EXTENSION IF NOT EXISTS pg_trgm;
  CREATE EXTENSION IF NOT EXISTS btree_gin;
  PERFORM set_config('search_path', 'petstore, ' || string_agg(quote_ident(nspname), ', '), true)
    FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname IN ('pg_trgm', 'btree_gin');
  CREATE INDEX pet_names_by_part ON pet_names USING gin (workspace, folded gin_trgm_ops) WITH (gin_pending_list_limit = 256);
EXCEPTION WHEN insufficient_privilege OR feature_not_supported OR undefined_file THEN
  RAISE WARNING 'there is no index of names: %', SQLERRM;
END $$;
SET LOCAL search_path = petstore;
