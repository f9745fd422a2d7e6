-- beside: 2
--
-- Each migration from here on says in its first line which programs may go on
-- beside it: those that know at least that many migrations. A program asks for
-- that of the migrations that it does not know.

ALTER TABLE migrations ADD COLUMN beside integer;
