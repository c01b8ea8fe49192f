-- Each request goes to the next host; they are made beforehand, so that many cost the load no more than few.
local requests = {}
local last = 0

function init(args)
  for index = 1, tonumber(args[1]) do
    requests[index] = wrk.format("GET", "/", { Host = "project-" .. index .. ".localhost" })
  end
end

function request()
  last = last % #requests + 1
  return requests[last]
end
