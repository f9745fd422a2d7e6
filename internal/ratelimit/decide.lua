-- One decision on the two windows of a subject. The functions current, atLeast and admit are those of windows.go: change
-- them together, the tests compare one with the other. Bans are each node's own and are not here.
--
-- KEYS[1] is the subject: a workspace, or an address without a key. ARGV[1] has eight numbers:
--   1 to count the request, 0 to change nothing
--   the instant, or 0 for the server's clock
--   the limits per minute and per day
--   the windows last known to the node, in case this server has lost counts
-- The script returns six numbers: the outcome, the instant, and the windows after the request.
--
-- Windows are four numbers: the start of the minute, the requests in it, the day, and the requests on it. Times are Unix
-- microseconds, and days are counted from the Unix epoch. Numbers are doubles, which hold microseconds exactly until the
-- year 2255.
local ADMITTED, REFUSED_BY_MINUTE, REFUSED_BY_DAY = 0, 1, 2
local MINUTE, DAY = 60000000, 86400000000
local WINDOWS, WINDOWS_SIZE = '<dddd', 32
local max, floor = math.max, math.floor

local counts, now, perMinute, perDay, kStart, kUsed, kDay, kDayUsed = struct.unpack('<dddddddd', ARGV[1])
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end

local function current(start, used, day, dayUsed)
  if used == 0 or now - start >= MINUTE then
    start, used = now, 0
  elseif start > now then
    start = now
  end
  local today = floor(now / DAY)
  if dayUsed == 0 or day < today then
    day, dayUsed = today, 0
  elseif day > today + 1 then
    day = today
  end
  return start, used, day, dayUsed
end

local start, used, day, dayUsed = 0, 0, 0, 0
local state = redis.call('GET', KEYS[1])
if state and #state == WINDOWS_SIZE then
  start, used, day, dayUsed = struct.unpack(WINDOWS, state)
end
start, used, day, dayUsed = current(start, used, day, dayUsed)

-- atLeast
kStart, kUsed, kDay, kDayUsed = current(kStart, kUsed, kDay, kDayUsed)
if kUsed > 0 then
  if used == 0 or kStart < start then
    start = kStart
  end
  used = max(used, kUsed)
end
if kDayUsed > 0 and kDay >= day then
  day, dayUsed = kDay, max(dayUsed, kDayUsed)
end

-- admit
local outcome = ADMITTED
local minuteFull, dayFull = used >= perMinute, dayUsed >= perDay
if dayFull and (not minuteFull or (day + 1) * DAY >= start + MINUTE) then
  outcome = REFUSED_BY_DAY
elseif minuteFull then
  outcome = REFUSED_BY_MINUTE
elseif counts == 1 then
  used, dayUsed = used + 1, dayUsed + 1
end

if counts == 1 then
  local ttl = (day + 1) * DAY - now + MINUTE
  redis.call('SET', KEYS[1], struct.pack(WINDOWS, start, used, day, dayUsed), 'PX', floor(ttl / 1000))
end
return struct.pack('<dddddd', outcome, now, start, used, day, dayUsed)
