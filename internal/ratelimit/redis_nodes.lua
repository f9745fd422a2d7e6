-- Notes that a node lives, and returns how many do, and the server's clock in microseconds.
-- KEYS[1]  the nodes: a sorted set by when each was last seen
-- ARGV[1]  the node; ARGV[2] after how many microseconds a silent node is gone, or 0 when this one goes
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
if ARGV[2] == '0' then
  redis.call('ZREM', KEYS[1], ARGV[1])
else
  redis.call('ZADD', KEYS[1], now, ARGV[1])
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
  redis.call('PEXPIRE', KEYS[1], math.ceil(ARGV[2] / 1000))
end
return {redis.call('ZCARD', KEYS[1]), string.format('%.0f', now)}
