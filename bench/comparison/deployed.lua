-- requests.lua for a site that is deployed meanwhile: looks at each body, and writes down (MILLRACE_SEEN) when which version came last, and
-- how many answers were none. That costs the load generator a part of its core, and no other way sees them all.
dofile(os.getenv("MILLRACE_REQUESTS"))

local ffi = require("ffi")
ffi.cdef("typedef struct { long s, ns; } moment; int clock_gettime(int clock, moment *now);")
local monotonic, moment = 1, ffi.new("moment")
-- As deployment.py makes them.
local stamp_bytes, line_bytes = 17, 64
local versions, threads, summarize = {}, {}, done

-- done() has them of each thread by these names.
last, broken = {}, 0

-- What each line of the body says, if all say the same and it has as many as they say; else false.
local function version_of(body)
  local stamp = body:sub(1, stamp_bytes)
  local version, lines = stamp:match("^(%d+) (%d+) %d+ $")
  if not version or #body ~= lines * line_bytes then return false end
  for at = 1, #body, line_bytes do
    if body:sub(at, at + stamp_bytes - 1) ~= stamp then return false end
  end
  return version
end

function setup(thread)
  table.insert(threads, thread)
end

function response(status, _, body)
  local version = versions[body]
  if version == nil then
    version = version_of(body)
    versions[body] = version
  end
  if status == 200 and version then
    ffi.C.clock_gettime(monotonic, moment)
    last[version] = tonumber(moment.s) + tonumber(moment.ns) / 1e9
  else
    broken = broken + 1
  end
end

function done(summary, latency, requests)
  summarize(summary, latency, requests)
  local seen = assert(io.open(os.getenv("MILLRACE_SEEN"), "w"))
  for _, thread in ipairs(threads) do
    seen:write(string.format("broken %d\n", thread:get("broken")))
    for version, at in pairs(thread:get("last")) do seen:write(string.format("%s %.6f\n", version, at)) end
  end
  seen:close()
end
