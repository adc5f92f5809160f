-- wrk with several requests in one write; each of their answers is counted. MILLRACE_DEPTH says how many.
dofile(os.getenv("MILLRACE_SUMMARY"))

local batch

function init(_)
  batch = string.rep(wrk.format("GET"), tonumber(os.getenv("MILLRACE_DEPTH")))
end

function request()
  return batch
end
