-- The transport of a debug session by Neovim's event loop, as nvim-dap has it: requests, events, and what
-- is asked at a stop.

local program, source = arg[1], arg[2]
local uv = vim.uv
local lines = vim.fn.readfile(source)

local function line_of(marker)
  for number, line in ipairs(lines) do
    if line:find("//@ " .. marker .. "%f[^%w_]") then
      return number
    end
  end
  error("no " .. marker)
end

local stdin, stdout = uv.new_pipe(), uv.new_pipe()
local exited
local handle = assert(uv.spawn(vim.env.STILLPOINT, { stdio = { stdin, stdout, 2 } }, function(code)
  exited = code
end))

local seq, answers, events, text = 0, {}, {}, ""
local capabilities = {}
stdout:read_start(function(err, chunk)
  assert(not err, err)
  text = text .. (chunk or "")
  while true do
    local length, body = text:match("^Content%-Length: (%d+)\r\n\r\n()")
    if not length or #text < body + length - 1 then
      return
    end
    local message = vim.json.decode(text:sub(body, body + length - 1))
    text = text:sub(body + length)
    if message.type == "response" then
      answers[message.request_seq] = message
    elseif message.event == "capabilities" then
      capabilities = vim.tbl_extend("force", capabilities, message.body.capabilities)
    else
      table.insert(events, message)
    end
  end
end)

local function send(command, arguments)
  seq = seq + 1
  local message = { seq = seq, type = "request", command = command, arguments = arguments }
  local json = vim.json.encode(message)
  stdin:write(("Content-Length: %d\r\n\r\n%s"):format(#json, json))
  return seq
end

local function wait(what, condition)
  assert(vim.wait(20000, condition, 5), "not seen within 20 s: " .. what)
end

local function answer(number)
  wait("answer " .. number, function() return answers[number] end)
  local message = answers[number]
  assert(message.success, vim.inspect(message))
  return message.body
end

local function ask(command, arguments)
  return answer(send(command, arguments))
end

--- The next event of that name; the ones before it are passed over.
local function event(name)
  local found
  wait(name, function()
    while #events > 0 and not found do
      local message = table.remove(events, 1)
      if message.event == name then
        found = message
      end
    end
    return found
  end)
  return found.body or {}
end

local count = 0
local function check(what, got, expected)
  assert(vim.deep_equal(got, expected), ("%s: %s, not %s"):format(what, vim.inspect(got), vim.inspect(expected)))
  count = count + 1
  print(("ok %d %s\n"):format(count, what))
end

--- What nvim-dap asks at each stop; gives the stop, the top frame and the locals by name.
local function stop()
  local stopped = event("stopped")
  assert(stopped.threadId, "a stop without a thread")
  local threads = ask("threads").threads
  check("the thread that stopped is listed", vim.iter(threads):any(function(it) return it.id == stopped.threadId end), true)
  -- No levels: the whole stack.
  local frame = ask("stackTrace", { startFrame = 0, threadId = stopped.threadId }).stackFrames[1]
  vim.cmd.edit(frame.source.path)
  vim.api.nvim_win_set_cursor(0, { frame.line, frame.column - 1 })
  local locals = {}
  for _, scope in ipairs(ask("scopes", { frameId = frame.id }).scopes) do
    if not scope.expensive then
      for _, variable in ipairs(ask("variables", { variablesReference = scope.variablesReference }).variables) do
        locals[variable.name] = variable.value
      end
    end
  end
  return stopped, frame, locals
end

--- Starts the program with further settings, and a breakpoint at a marker.
local function start(settings, marker)
  capabilities = ask("initialize", {
    adapterID = "nvim-dap", clientID = "neovim", clientName = "neovim", columnsStartAt1 = true,
    linesStartAt1 = true, locale = "C.UTF-8", pathFormat = "path", supportsProgressReporting = true,
    supportsRunInTerminalRequest = true, supportsStartDebuggingRequest = true, supportsVariableType = true,
  })
  assert(capabilities.supportsConfigurationDoneRequest)
  check("at first there is no past", capabilities.supportsStepBack, nil)
  local launch = send("launch", vim.tbl_extend("force", {
    type = "stillpoint", request = "launch", name = "Launch", program = program, cwd = vim.fn.getcwd(),
  }, settings))
  event("initialized")
  local line = line_of(marker)
  local set = ask("setBreakpoints", {
    source = { path = source, name = vim.fn.fnamemodify(source, ":t") },
    sourceModified = false, breakpoints = { { line = line } }, lines = { line },
  })
  check("the breakpoint is where it was set", set.breakpoints[1].line, line)
  local filters = {}
  for _, filter in ipairs(capabilities.exceptionBreakpointFilters) do
    if filter.default then
      table.insert(filters, filter.filter)
    end
  end
  ask("setExceptionBreakpoints", { filters = filters })
  ask("configurationDone")
  answer(launch)
end

--- Ends as nvim-dap does, which says nothing more: it closes the pipes.
local function finish()
  stdin:close()
  wait("the end of the debugger", function() return exited end)
  check("the debugger ends when its pipes close", exited, 0)
  handle:close()
  os.exit(0)
end

return {
  source = source,
  line_of = line_of,
  ask = ask,
  event = event,
  check = check,
  stop = stop,
  start = start,
  finish = finish,
  capabilities = function() return capabilities end,
}
