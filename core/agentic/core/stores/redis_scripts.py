"""Operations on a run's checkpoints as scripts inside the server: see `redis_checkpoints` for the keys.

Each script may be sent again if its answer was lost: it sees in the data that it has already run.
"""

from __future__ import annotations

from agentic.core.stores.redis_server import Script

SAVED = -1

# If a script's first write is allowed, all of it is. So that write is the HSET, which a server with full
# memory refuses, and a set of runs of the wrong type is noticed before (ZCARD). Times are formatted, because
# Lua would write them with 14 digits.
SAVE = Script("""
-- KEYS: run, runs. ARGV: revision, name of its metadata, ms to live, member of runs, names and values.
-- Returns -1 if the checkpoint is there, or else the revision of the newest one.
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then
    return -1
end
local name = redis.call('HGET', KEYS[1], 'newest')
local newest = name and tonumber(string.match(name, '%.(%d+)%.%x+%.meta$')) or 0
if newest ~= tonumber(ARGV[1]) - 1 then
    return newest
end
redis.call('ZCARD', KEYS[2])
redis.call('HSET', KEYS[1], 'newest', ARGV[2])
if newest == 0 then
    redis.call('HSET', KEYS[1], 'first', ARGV[2])
end
for index = 5, #ARGV, 2 do
    redis.call('HSET', KEYS[1], ARGV[index], ARGV[index + 1])
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', now))
redis.call('ZADD', KEYS[2], string.format('%.0f', now + ARGV[3]), ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[3]) then
    redis.call('PEXPIRE', KEYS[2], ARGV[3])
end
return -1
""")

READ = Script("""
-- KEYS: run. Returns the names of the first and the newest one's metadata, and all names.
local run = KEYS[1]
return {redis.call('HGET', run, 'first'), redis.call('HGET', run, 'newest'), redis.call('HKEYS', run)}
""")

NEWEST = Script("""
-- KEYS: some runs. Returns name and metadata of the newest checkpoint of each that is there.
local found = {}
for _, run in ipairs(KEYS) do
    local name = redis.call('HGET', run, 'newest')
    if name then
        found[#found + 1] = {name, redis.call('HGET', run, name)}
    end
end
return found
""")

LISTED = Script("""
-- KEYS: some runs. Returns name and metadata of all checkpoints: those that have a head.
local found = {}
for _, run in ipairs(KEYS) do
    for _, text in ipairs(redis.call('HKEYS', run)) do
        if string.sub(text, -5) == '.text' then
            local name = string.sub(text, 1, -6) .. '.meta'
            found[#found + 1] = {name, redis.call('HGET', run, name)}
        end
    end
end
return found
""")

DELETE = Script("""
-- KEYS: run, runs. ARGV: name of its first one's metadata, as it may have begun anew; member of runs.
if redis.call('HGET', KEYS[1], 'first') == ARGV[1] then
    redis.call('UNLINK', KEYS[1])
    redis.call('ZREM', KEYS[2], ARGV[2])
end
return 0
""")
