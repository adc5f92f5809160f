-- wrk with the requests of a file (ARENA_REQUESTS), in turn: each stands as it is sent, and ends with the record separator.
dofile(os.getenv("MILLRACE_SUMMARY"))

local requests, turn = {}, 0

function init(_)
  local file = io.open(os.getenv("ARENA_REQUESTS"), "rb")
  for request in file:read("*a"):gmatch("[^\30]+") do
    table.insert(requests, request)
  end
  file:close()
end

function request()
  turn = turn % #requests + 1
  return requests[turn]
end
