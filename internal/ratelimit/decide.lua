-- One decision of the limiter on one subject. The functions are those of windows.go and penalty.go, by the same names, where
-- no comment says otherwise: change them together, the tests hold one against the other.
--
-- KEYS[1]  the subject: a workspace, or an address without a key
-- KEYS[2]  with ARGV[4]: what Redis has of that node's local admissions
-- ARGV[1]  numbers: mode, instant (0: the server's clock), deadline (0: none), both limits, the windows last known to the node
-- ARGV[2]  the API key, or nothing for an address
-- ARGV[3]  nothing, or numbers: when the node learnt that a ban was set or lifted, its level (-1: lifted), the instant that
--          clean days count from
-- ARGV[4]  absent, or numbers: the windows in which the node admitted without Redis, and those that it knows to be here
-- RULES    stands for the numbers of the rules of bans, which the node writes here
--
-- It returns numbers: outcome, whether a ban begins, the instant, the windows; and then what stands against the API key.
-- Numbers are doubles; times are Unix microseconds, which a double holds exactly until the year 2255.
local ADMIT, PEEK = 0, 1 -- any other mode only takes over what the node reports
local ADMITTED, BY_MINUTE, BY_DAY, BANNED, LATE = 0, 1, 2, 3, 4
local MINUTE, DAY = 60000000, 86400000000
local HEAD, PENALTY = '<ddddd', '<dddddd'
local ENTRIES = 41 -- where the entries of API keys begin
local min, max, floor = math.min, math.max, math.floor

local id, change = ARGV[2], ARGV[3]
if change == '' then
  change = nil
end
local mode, now, deadline, perMinute, perDay, kStart, kUsed, kDay, kDayUsed = struct.unpack('<ddddddddd', ARGV[1])
if now == 0 then
  local t = redis.call('TIME')
  now = t[1] * 1000000 + t[2]
end
if deadline ~= 0 and now >= deadline then
  return struct.pack('<dd', LATE, now)
end

---- The state.
local keep, start, used, day, dayUsed = 0, 0, 0, 0, 0
local outcome, begins, body, tail = ADMITTED, 0, '', ''
local state = redis.call('GET', KEYS[1])
if state then
  keep, start, used, day, dayUsed = struct.unpack(HEAD, state)
end

-- As nearly always: both windows run and have room, nothing stands against any key, and the node knows nothing that is not
-- here. Then two counts grow, and the functions, which cost more than that, are not made.
if mode == ADMIT and not ARGV[3] and state and #state < ENTRIES
  and used > 0 and used < perMinute and start <= now and now - start < MINUTE
  and dayUsed > 0 and dayUsed < perDay and day == floor(now / DAY)
  and kUsed <= used and (kUsed == 0 or kStart >= start) and (kDay < day or kDay == day and kDayUsed <= dayUsed) then
  used, dayUsed = used + 1, dayUsed + 1
else
  ---- windows.go. The subject's windows are those above; those of others are arguments.

  local function at(start, used, day, dayUsed)
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

  -- earlierStart is the start of the minute that began first, so that no Reset that was told comes too early.
  local function earlierStart(oStart)
    if used == 0 then
      return oStart
    end
    return min(start, oStart)
  end

  -- atLeast is for a server that has lost counts.
  local function atLeast(oStart, oUsed, oDay, oDayUsed)
    if oUsed > 0 then
      start, used = earlierStart(oStart), max(used, oUsed)
    end
    if oDayUsed > 0 and oDay >= day then
      day, dayUsed = oDay, max(dayUsed, oDayUsed)
    end
  end

  local function plus(oStart, oUsed, oDay, oDayUsed)
    if oUsed > 0 then
      start, used = earlierStart(oStart), used + oUsed
    end
    if oDayUsed > 0 and oDay >= day then
      day, dayUsed = oDay, dayUsed + oDayUsed
    end
  end

  -- admit counts a request, or returns what refuses it and when that resets.
  local function admit()
    local minuteFull, dayFull = used >= perMinute, dayUsed >= perDay
    if not minuteFull and not dayFull then
      used, dayUsed = used + 1, dayUsed + 1
      return ADMITTED
    end
    local minuteEnd, dayEnd = start + MINUTE, (day + 1) * DAY
    if dayFull and (not minuteFull or dayEnd >= minuteEnd) then
      return BY_DAY, dayEnd
    end
    return BY_MINUTE, minuteEnd
  end

  ---- What the node knows that the state lacks.
  start, used, day, dayUsed = at(start, used, day, dayUsed)
  atLeast(at(kStart, kUsed, kDay, kDayUsed)) -- mostly the state is ahead

  -- What the node admitted without Redis is added as far as it is not here: it comes with each call until one is answered.
  if ARGV[4] then
    local lStart, lUsed, lDay, lDayUsed, rStart, rUsed, rDay, rDayUsed = struct.unpack('<dddddddd', ARGV[4])
    local hereUsed, hereDayUsed = 0, 0
    local function isHere(oStart, oUsed, oDay, oDayUsed)
      if oStart == lStart then
        hereUsed = max(hereUsed, oUsed)
      end
      if oDay == lDay then
        hereDayUsed = max(hereDayUsed, oDayUsed)
      end
    end
    isHere(rStart, rUsed, rDay, rDayUsed)
    local here = redis.call('GET', KEYS[2])
    if here then
      isHere(struct.unpack('<dddd', here))
    end
    plus(at(lStart, lUsed - hereUsed, lDay, lDayUsed - hereDayUsed))
    if mode ~= PEEK then
      local all = struct.pack('<dddd', lStart, max(lUsed, hereUsed), lDay, max(lDayUsed, hereDayUsed))
      redis.call('SET', KEYS[2], all, 'PX', 2 * DAY / 1000)
    end
  end

  ---- penalty.go. What stands against the API key is p.
  local p = {runFrom = 0, runUntil = 0, banFrom = 0, banUntil = 0, level = 0, cleanSince = 0}
  local strikes = {}
  local STRIKES, WINDOW, GRACE, FIRST, LONGEST, TOP

  local function banned()
    if p.banFrom > now then
      local ahead = p.banFrom - now
      p.cleanSince, p.banFrom, p.banUntil = p.cleanSince - ahead, now, p.banUntil - ahead
    end
    if p.banUntil <= now then
      p.banFrom, p.banUntil = 0, 0
    end
    return p.banUntil ~= 0
  end

  local function endRun()
    p.runFrom, p.runUntil = 0, 0
  end

  local function length(level)
    local d = FIRST
    for _ = 2, level do
      d = min(d * 2, LONGEST)
    end
    return d
  end

  local function ban()
    p.level = min(p.level + 1, TOP)
    p.banFrom, p.banUntil = now, now + length(p.level)
    p.cleanSince = p.banUntil
    endRun()
    strikes = {}
  end

  local function forgive()
    local days = max(0, floor((now - p.cleanSince) / DAY))
    p.level = max(0, p.level - days)
    p.cleanSince = p.cleanSince + days * DAY
  end

  local function strike()
    forgive()
    p.cleanSince = now
    local before = STRIKES - 1
    while #strikes > before do
      table.remove(strikes, 1)
    end
    if #strikes == before and (before == 0 or now - strikes[1] < WINDOW) then
      ban()
      return true
    end
    if #strikes == before then
      table.remove(strikes, 1)
    end
    strikes[#strikes + 1] = now
    return false
  end

  local function refuse(reset)
    STRIKES, WINDOW, GRACE, FIRST, LONGEST, TOP = RULES
    if p.runFrom > now or p.runUntil <= now then
      endRun()
    end
    if #strikes > 0 and strikes[#strikes] > now then
      strikes = {}
    end
    if p.runFrom == 0 then
      p.runFrom = now
    end
    p.runUntil = reset
    return now - p.runFrom > GRACE and strike()
  end

  -- override ends what stood against the key before a ban was set or lifted elsewhere: each node says so once.
  local function override()
    local when, level, cleanSince = struct.unpack('<ddd', change)
    local function before(instant)
      return instant <= when or instant > now
    end
    if p.banFrom ~= 0 and before(p.banFrom) then
      if level < 0 and p.banUntil > when then
        p.cleanSince = when
      end
      p.banFrom, p.banUntil = 0, 0
    end
    if before(p.runFrom) then
      endRun()
    end
    if #strikes > 0 and before(strikes[#strikes]) then
      strikes = {}
    end
    if cleanSince > p.cleanSince then
      p.cleanSince = cleanSince
      if level > 0 then
        p.level = level
      end
    end
  end

  local function decide()
    if banned() then
      return BANNED, 0
    end
    local outcome, reset = admit()
    if outcome == ADMITTED then
      endRun()
    elseif id ~= '' and refuse(reset) then
      return BANNED, 1
    end
    return outcome, 0
  end

  ---- The entries of the API keys behind the windows: length, name, penalty, strikes.
  -- each calls f with where each entry begins and ends, its name, and where its penalty begins.
  local function each(f)
    local pos = ENTRIES
    while state and pos <= #state do
      local size, name, body = struct.unpack('<I4I2c0', state, pos)
      f(pos, pos + 4 + size, name, body)
      pos = pos + 4 + size
    end
  end

  local found = false
  local function find()
    each(function(pos, ends, name, body)
      if name ~= id then
        return
      end
      found = true
      p.runFrom, p.runUntil, p.banFrom, p.banUntil, p.level, p.cleanSince = struct.unpack(PENALTY, state, body)
      for i = body + 48, ends - 1, 8 do
        strikes[#strikes + 1] = struct.unpack('<d', state, i)
      end
    end)
  end

  -- pack returns the penalty, or nothing if it says nothing.
  local function pack()
    if p.runFrom == 0 and p.banUntil == 0 and p.level == 0 and p.cleanSince == 0 and #strikes == 0 then
      return ''
    end
    local packed = {struct.pack(PENALTY, p.runFrom, p.runUntil, p.banFrom, p.banUntil, p.level, p.cleanSince)}
    for i = 1, #strikes do
      packed[i + 1] = struct.pack('<d', strikes[i])
    end
    return table.concat(packed)
  end

  -- lasts returns until when an entry says anything, given its last strike.
  local function lasts(runUntil, banUntil, level, cleanSince, last)
    return max(runUntil, banUntil, last, cleanSince + level * DAY) + DAY
  end

  -- entries returns those of all API keys. With a new one those go that say nothing any more.
  local function entries()
    local kept = {}
    each(function(pos, ends, name, penalty)
      local _, runUntil, _, banUntil, level, cleanSince = struct.unpack(PENALTY, state, penalty)
      if name ~= id and (found or lasts(runUntil, banUntil, level, cleanSince, 0) + DAY > now) then
        kept[#kept + 1] = string.sub(state, pos, ends - 1)
      end
    end)
    if body ~= '' then
      kept[#kept + 1] = struct.pack('<I4I2', 2 + #id + #body, #id) .. id .. body
    end
    return table.concat(kept)
  end

  if id ~= '' then
    find()
  end
  if change then
    override()
  end
  if mode == ADMIT then
    outcome, begins = decide()
  elseif mode == PEEK and banned() then
    outcome = BANNED
  end
  body = pack()
  if mode ~= PEEK then
    tail = entries()
  end
  if body ~= '' then
    keep = max(keep, lasts(p.runUntil, p.banUntil, p.level, p.cleanSince, strikes[#strikes] or 0))
  end
end

---- The state after the decision.
if mode ~= PEEK then
  local ttl = (day + 1) * DAY - now + MINUTE
  if id ~= '' or keep > 0 then
    keep = max(keep, now + 2 * DAY)
    ttl = min(keep - now, 1000 * DAY)
  end
  redis.call('SET', KEYS[1], struct.pack(HEAD, keep, start, used, day, dayUsed) .. tail, 'PX', math.ceil(ttl / 1000))
end
return struct.pack('<ddddddd', outcome, begins, now, start, used, day, dayUsed) .. body
