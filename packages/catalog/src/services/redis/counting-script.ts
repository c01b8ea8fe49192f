/**
 * Lua that Redis runs over the next keys: ARGV are a cursor and what was counted so far, the answer is the same after them.
 *
 * The checksum is a sum, so the order of keys is of no account, nor is that of the members of sets and hashes, which differs from
 * start to start. DUMP would not do for that reason. Sums stay below 2^53, where numbers of Lua are exact. What has very many
 * elements is only measured, for the server waits meanwhile.
 */
export const countingScript = `local most = 100000
local function hash(...)
  local words = {}
  for _, word in ipairs({...}) do words[#words + 1] = #word .. ':' .. word end
  return tonumber(string.sub(redis.sha1hex(table.concat(words)), 1, 12), 16)
end
local function add(a, b) return (a + b) % 281474976710656 end
local function text(number) return string.format('%.0f', number) end
local function members(kind, list, step)
  local sum = 0
  for i = 1, #list, step do sum = add(sum, hash(kind, list[i], step == 2 and list[i + 1] or '')) end
  return text(sum)
end
local function flat(value, into)
  if type(value) == 'table' then
    for _, each in ipairs(value) do flat(each, into) end
  else into[#into + 1] = tostring(value) end
  return into
end
local lengths = { list = 'LLEN', set = 'SCARD', hash = 'HLEN', zset = 'ZCARD', stream = 'XLEN' }
local readers = {
  string = function(key) return redis.call('GET', key) end,
  list = function(key)
    local chained = ''
    for _, word in ipairs(redis.call('LRANGE', key, 0, -1)) do chained = text(hash(chained, word)) end
    return chained
  end,
  set = function(key) return members('set', redis.call('SMEMBERS', key), 1) end,
  hash = function(key) return members('hash', redis.call('HGETALL', key), 2) end,
  zset = function(key) return members('zset', redis.call('ZRANGE', key, 0, -1, 'WITHSCORES'), 2) end,
  stream = function(key)
    local chained = ''
    for _, word in ipairs(flat(redis.call('XRANGE', key, '-', '+'), {})) do chained = text(hash(chained, word)) end
    return chained
  end,
}
local keys, sum, long = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local found = redis.call('SCAN', ARGV[1], 'COUNT', 1000)
for _, key in ipairs(found[2]) do
  if redis.call('PTTL', key) == -1 then
    local kind = redis.call('TYPE', key).ok
    local length = lengths[kind] and redis.call(lengths[kind], key)
    local content = ''
    if length and length > most then
      content = text(length)
      long = long + 1
    elseif readers[kind] then
      content = readers[kind](key)
    end
    keys = keys + 1
    sum = add(sum, hash(key, kind, content))
  end
end
return { found[1], text(keys), text(sum), text(long) }`
