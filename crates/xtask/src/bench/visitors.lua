-- Visitors of a shop, for wrk: each asks for a page, and then for its twenty files. A hundred visit at once.
local FILES, AT_ONCE, THREADS = 20, 50, 2
local cookies, visits, turn, newest = {}, {}, 0, 0

local threads = 0
function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

-- Each thread has its own visitors.
function init()
  local line = 0
  for cookie in io.lines("COOKIES") do
    if line % THREADS == number then cookies[#cookies + 1] = cookie end
    line = line + 1
  end
end

function request()
  turn = turn % AT_ONCE + 1
  local visit = visits[turn]
  if not visit or visit.asked > FILES then
    newest = newest % #cookies + 1
    visit = { cookie = cookies[newest], asked = 0 }
    visits[turn] = visit
  end
  local path = visit.asked == 0 and "/tickets/7" or "/files/" .. visit.asked
  visit.asked = visit.asked + 1
  return "GET " .. path .. " HTTP/1.1\r\nHost: shop.example\r\nCookie: " .. visit.cookie .. "\r\n\r\n"
end
