-- beside: 2
--
-- Webhooks, and what is due to them. The events of the feed up to reached have a row in
-- deliveries, unless they are of other types. Who delivers to a webhook is its holder,
-- until held_until. The secrets are kept as they are: they have to sign.

CREATE TABLE webhooks (
  id            text COLLATE "C" PRIMARY KEY,
  workspace     bigint NOT NULL,
  url           text NOT NULL,
  types         text NOT NULL, -- each between commas; '' for all
  description   text NOT NULL,
  state         text NOT NULL,
  created_at    bigint NOT NULL,
  reached       bigint NOT NULL,
  failing_since bigint,
  secret        text NOT NULL,
  old_secret    text NOT NULL, -- '' for none
  old_until     bigint,
  holder        text NOT NULL,
  held_until    bigint NOT NULL
);
CREATE INDEX webhooks_workspace ON webhooks (workspace);

CREATE TABLE deliveries (
  webhook   text COLLATE "C" NOT NULL,
  event     bigint NOT NULL,
  workspace bigint NOT NULL,
  type      text NOT NULL,
  state     text NOT NULL,
  tries     bigint NOT NULL,
  tried_at  bigint,
  next_at   bigint, -- NULL if it has ended
  status    bigint NOT NULL, -- 0 if no answer came
  answer    text NOT NULL,
  error     text NOT NULL,
  latency   bigint NOT NULL,
  PRIMARY KEY (webhook, event)
);
CREATE INDEX deliveries_due ON deliveries (webhook, next_at, event) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_ended ON deliveries (webhook, tried_at) WHERE next_at IS NULL;
CREATE INDEX deliveries_workspace ON deliveries (workspace);
