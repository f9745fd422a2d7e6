-- beside: 2
--
-- Tokens of operators, for the operator's API. A row stays when its token is
-- revoked, so that it can be told whose it was.

CREATE TABLE operator_tokens (
  id         text COLLATE "C" PRIMARY KEY,
  name       text NOT NULL,
  prefix     text NOT NULL,
  hash       bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  revoked_at bigint
);
