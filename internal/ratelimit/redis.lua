-- One step of the limiter on one key. It is the rule of windows.go and penalty.go: change them together, the tests hold
-- the two against each other.
--
-- KEYS[1]  a workspace, or an address without a key
-- ARGV[1]  numbers: mode, instant (0: the server's clock), deadline (0: none), the two limits, the windows that the node
--          last knew, and, if there are any, those in which it admitted on its own since
-- ARGV[2]  the API key, or nothing for an address
-- ARGV[3]  numbers, for the mode BAN: from, until, level
-- RULES    stands for the numbers of the rules of bans, which the node writes here
--
-- It returns numbers: outcome, whether a ban begins, the instant, the windows; and then what stands against the API key.
-- Numbers are doubles; times are Unix microseconds, which a double holds exactly until the year 2255.
local ADMIT, PEEK, BAN, LIFT = 0, 1, 2, 3 -- any other mode only takes over the node's counts
local ADMITTED, BY_MINUTE, BY_DAY, BANNED, LATE = 0, 1, 2, 3, 4
local MINUTE, DAY = 60000000, 86400000000
local HEAD, PENALTY = '<ddddd', '<dddddd'
local ENTRIES = 41 -- where the entries of API keys begin

local numbers, id = ARGV[1], ARGV[2]
local mode, now, deadline, perMinute, perDay, kStart, kUsed, kDay, kDayUsed = struct.unpack('<ddddddddd', numbers)
if now == 0 then
  local t = redis.call('TIME')
  now = t[1] * 1000000 + t[2]
end
if deadline ~= 0 and now >= deadline then
  return struct.pack('<dd', LATE, now)
end
local min, max = math.min, math.max
local today = math.floor(now / DAY)

local function settle(start, used, day, dayUsed)
  if used == 0 or now - start >= MINUTE then
    start, used = now, 0
  elseif start > now then
    start = now
  end
  if day < today then
    day, dayUsed = today, 0
  elseif day > today + 1 then
    day = today
  end
  return start, used, day, dayUsed
end

local state = redis.call('GET', KEYS[1])
local keep, start, used, day, dayUsed = 0, 0, 0, 0, 0
if state then
  keep, start, used, day, dayUsed = struct.unpack(HEAD, state)
end
local counts = mode ~= BAN and mode ~= LIFT
if counts then
  start, used, day, dayUsed = settle(start, used, day, dayUsed)
end

-- A server that has lost counts gets them back. Mostly it is ahead of the node.
if counts and (kUsed > used or kUsed > 0 and kStart < start or kDay > day or kDay == day and kDayUsed > dayUsed) then
  kStart, kUsed, kDay, kDayUsed = settle(kStart, kUsed, kDay, kDayUsed)
  if kUsed > 0 then
    if used > 0 then
      start = min(start, kStart)
    else
      start = kStart
    end
    used = max(used, kUsed)
  end
  if kDay > day then
    day = kDay
  end
  if kDay == day then
    dayUsed = max(dayUsed, kDayUsed)
  end
end
if counts and #numbers > 72 then
  local aStart, aUsed, aDay, aDayUsed = settle(struct.unpack('<dddd', numbers, 73))
  if aUsed > 0 then
    if used > 0 then
      start = min(start, aStart)
    else
      start = aStart
    end
    used = used + aUsed
  end
  if aDayUsed > 0 and aDay > day then
    day = aDay
  end
  if aDay == day then
    dayUsed = dayUsed + aDayUsed
  end
end

local outcome, begins = ADMITTED, 0
local body, tail = '', '' -- what stands against this API key, and the entries of all
local says = 0 -- until when that says anything

if mode == ADMIT and (not state or #state < ENTRIES) and used < perMinute and dayUsed < perDay then
  used, dayUsed = used + 1, dayUsed + 1 -- as nearly always; so what follows is not even begun
else
  -- What stands against the API key: run, ban, level, the instant that clean days count from, strikes.
  local runFrom, runUntil, banFrom, banUntil, level, clean = 0, 0, 0, 0, 0, 0
  local strikes = {}
  local entryAt, entryEnd -- where its entry is, and where the next one begins

  local function find()
    local pos = ENTRIES
    while pos <= #state do
      local length, name, body = struct.unpack('<I4I2c0', state, pos)
      local ends = pos + 4 + length
      if name == id then
        entryAt, entryEnd = pos, ends
        runFrom, runUntil, banFrom, banUntil, level, clean = struct.unpack(PENALTY, state, body)
        for p = body + 48, ends - 1, 8 do
          strikes[#strikes + 1] = struct.unpack('<d', state, p)
        end
        return
      end
      pos = ends
    end
  end

  if state and #state >= ENTRIES and id ~= '' then
    find()
  end

  local rStrikes, rWindow, rGrace, rFirst, rLongest, rTop
  local function readRules()
    rStrikes, rWindow, rGrace, rFirst, rLongest, rTop = RULES
  end

  local function banRuns()
    if banFrom > now then
      local ahead = banFrom - now
      clean, banFrom, banUntil = clean - ahead, now, banUntil - ahead
    end
    if banUntil <= now then
      banFrom, banUntil = 0, 0
    end
    return banUntil ~= 0
  end

  local function endRun()
    runFrom, runUntil = 0, 0
  end

  local function beginBan()
    level = min(level + 1, rTop)
    local length = rFirst
    for _ = 2, level do
      length = min(length * 2, rLongest)
    end
    banFrom, banUntil = now, now + length
    clean = banUntil
    endRun()
    strikes = {}
  end

  -- strike counts one and tells whether it begins a ban.
  local function strike()
    local days = max(0, math.floor((now - clean) / DAY))
    level = max(0, level - days)
    clean = now
    local before = rStrikes - 1
    if #strikes == before and (before == 0 or now - strikes[1] < rWindow) then
      beginBan()
      return true
    end
    if #strikes == before then
      table.remove(strikes, 1)
    end
    strikes[#strikes + 1] = now
    return false
  end

  -- refuse notes a refusal by a window that resets at the given instant, and tells whether it begins a ban.
  local function refuse(reset)
    readRules()
    if runFrom > now or runUntil <= now then
      endRun()
    end
    if #strikes > 0 and strikes[#strikes] > now then
      strikes = {}
    end
    if runFrom == 0 then
      runFrom = now
    end
    runUntil = reset
    return now - runFrom > rGrace and strike()
  end

  local function admit()
    if entryAt and banRuns() then
      outcome = BANNED
      return
    end
    local minuteFull, dayFull = used >= perMinute, dayUsed >= perDay
    if not minuteFull and not dayFull then
      used, dayUsed = used + 1, dayUsed + 1
      endRun()
      return
    end
    local minuteEnd, dayEnd = start + MINUTE, (day + 1) * DAY
    local reset = minuteEnd
    outcome = BY_MINUTE
    if dayFull and (not minuteFull or dayEnd >= minuteEnd) then
      outcome, reset = BY_DAY, dayEnd
    end
    if id ~= '' and refuse(reset) then
      outcome, begins = BANNED, 1
    end
  end

  local function setBan()
    local from, ends, lvl = struct.unpack('<ddd', ARGV[3])
    if lvl > 0 and ends > clean then
      level = lvl
    end
    clean = max(clean, ends)
    if ends <= now then
      return
    end
    banFrom, banUntil = from, ends
    endRun()
    strikes = {}
  end

  local function liftBan()
    if banRuns() then
      clean = now
    end
    banFrom, banUntil = 0, 0
    endRun()
    strikes = {}
  end

  if mode == ADMIT then
    admit()
  elseif mode == PEEK then
    if entryAt and banRuns() then
      outcome = BANNED
    end
  elseif mode == BAN then
    setBan()
  elseif mode == LIFT then
    liftBan()
  end

  local blank = runFrom == 0 and banUntil == 0 and level == 0 and clean == 0 and #strikes == 0
  if not blank then
    local packed = {struct.pack(PENALTY, runFrom, runUntil, banFrom, banUntil, level, clean)}
    for i = 1, #strikes do
      packed[i + 1] = struct.pack('<d', strikes[i])
    end
    body = table.concat(packed)
  end

  -- until when an entry says anything, given its last strike
  local function lasts(until1, until2, lvl, cln, last)
    return max(until1, until2, last, cln + lvl * DAY) + DAY
  end

  -- others returns the entries but the one of this API key, without those that say nothing any more.
  local function others()
    local kept, pos = {}, ENTRIES
    while state and pos <= #state do
      local length, name, at = struct.unpack('<I4I2c0', state, pos)
      local ends = pos + 4 + length
      if name ~= id then
        local _, ru, _, bu, lv, cs = struct.unpack(PENALTY, state, at)
        if lasts(ru, bu, lv, cs, 0) + DAY > now then
          kept[#kept + 1] = string.sub(state, pos, ends - 1)
        end
      end
      pos = ends
    end
    return table.concat(kept)
  end

  local function entries()
    local entry = ''
    if not blank then
      entry = struct.pack('<I4I2', 2 + #id + #body, #id) .. id .. body
    end
    if entryAt then
      return string.sub(state, ENTRIES, entryAt - 1) .. entry .. string.sub(state, entryEnd)
    elseif entry ~= '' then
      return others() .. entry
    elseif state then
      return string.sub(state, ENTRIES)
    end
    return ''
  end

  if mode ~= PEEK then
    tail = entries()
    if not blank then
      says = lasts(runUntil, banUntil, level, clean, strikes[#strikes] or 0)
    end
  end
end

if mode ~= PEEK then
  local ttl = (day + 1) * DAY - now + MINUTE
  if id ~= '' or keep > 0 then
    keep = max(keep, now + 2 * DAY, says)
    ttl = min(keep - now, 1000 * DAY)
  end
  redis.call('SET', KEYS[1], struct.pack(HEAD, keep, start, used, day, dayUsed) .. tail, 'PX', math.ceil(ttl / 1000))
end
return struct.pack('<ddddddd', outcome, begins, now, start, used, day, dayUsed) .. body
