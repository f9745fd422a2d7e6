-- beside: 2
--
-- The workspaces whose rows are being removed, by a reset or because they were
-- deleted: step by step, in many transactions. That of a deleted workspace stays for a
-- while: servers may still save what it did before they learnt of it.

CREATE TABLE removals (
  workspace bigint PRIMARY KEY,
  steps     bigint NOT NULL DEFAULT 0,
  ended_at  bigint -- NULL while there are rows
);
