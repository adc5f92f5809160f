-- wrk with several targets in turn (a file, MILLRACE_TARGETS, has one a line) or several requests in one write (MILLRACE_DEPTH).
-- Only for those: a function that is called for each request costs the load generator's core.
dofile(os.getenv("MILLRACE_SUMMARY"))

local batches, turn = {}, 0

function init(_)
  local depth = tonumber(os.getenv("MILLRACE_DEPTH"))
  for target in io.lines(os.getenv("MILLRACE_TARGETS")) do
    table.insert(batches, string.rep(wrk.format("GET", target), depth))
  end
end

function request()
  turn = turn % #batches + 1
  return batches[turn]
end
