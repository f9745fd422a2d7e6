-- beside: 2
--
-- At the start only the keys are read against which something stands.

CREATE INDEX limit_keys_against ON limit_keys (key_id) WHERE clean_since > 0 OR run_from > 0;
