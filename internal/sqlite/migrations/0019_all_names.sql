-- The index of names has all names from now on. Those of a file from before schema 11
-- were added to it in the background, and some may be missing.
INSERT INTO pet_names (pet_names) SELECT 'rebuild' FROM names_indexed WHERE workspace < 1 << 62;
DROP TABLE names_indexed;
