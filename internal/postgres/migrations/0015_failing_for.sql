-- beside: 2
--
-- For how long a webhook has been failing, in milliseconds, as those who held it saw it: a
-- clock that jumps adds no more than one lease.

ALTER TABLE webhooks ADD COLUMN failing_for bigint NOT NULL DEFAULT 0;
