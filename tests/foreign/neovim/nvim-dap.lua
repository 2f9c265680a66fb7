-- A debug session by nvim-dap, started by nvim-dap.sh: `loop.c` is open, `manual.lua` beside it is the
-- manual's configuration.

local function run()
  local dap = require("dap")
  local repl = require("dap.repl")
  local source = vim.api.nvim_buf_get_name(0)
  local buffer = vim.api.nvim_get_current_buf()
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)

  local function line_of(marker)
    for number, line in ipairs(lines) do
      if line:find("//@ " .. marker .. "%f[^%w_]") then
        return number
      end
    end
    error("no " .. marker)
  end

  local function wait(what, condition)
    assert(vim.wait(20000, condition, 20), "not seen within 20 s: " .. what)
  end

  local step = 0
  local function check(what, got, expected)
    assert(vim.deep_equal(got, expected), ("%s: %s, not %s"):format(what, vim.inspect(got), vim.inspect(expected)))
    step = step + 1
    io.stdout:write(("ok %d %s\n"):format(step, what))
  end

  -- Complaints of nvim-dap's are for people: none is expected.
  vim.notify = function(message, level)
    if (level or 0) >= vim.log.levels.WARN then
      error("nvim-dap says: " .. message)
    end
  end

  dofile(vim.g.root .. "/manual.lua")
  dap.adapters.stillpoint.command = vim.env.STILLPOINT
  local configuration = vim.deepcopy(dap.configurations.c[1])
  configuration.program = vim.g.root .. "/loop"

  local ended
  dap.listeners.after.event_terminated["test"] = function() ended = true end

  --- The value of a local, as the scopes of the frame have it.
  local function variable(name)
    local frame = (dap.session() or {}).current_frame
    for _, scope in ipairs(frame and frame.scopes or {}) do
      for _, it in pairs(scope.variables or {}) do
        if it.name == name then
          return it.value
        end
      end
    end
  end

  local function stops_at(marker)
    local line = line_of(marker)
    wait("a stop at " .. marker, function()
      local frame = (dap.session() or {}).current_frame
      return frame and frame.line == line
    end)
    wait("the cursor at " .. marker, function() return vim.api.nvim_win_get_cursor(0)[1] == line end)
    wait("locals at " .. marker, function() return variable("i") end)
  end

  vim.api.nvim_win_set_cursor(0, { line_of("body"), 0 })
  dap.set_breakpoint()
  dap.run(configuration)
  stops_at("body")
  check("it stops at the breakpoint, in the source", vim.api.nvim_buf_get_name(0), source)
  check("scopes show locals", { variable("i"), variable("scale") }, { "0", "10" })
  local signs = vim.fn.sign_getplaced(buffer, { group = "*" })[1].signs
  local at = vim.iter(signs):filter(function(it) return it.lnum == line_of("body") end)
  check("one breakpoint has one sign", at:filter(function(it) return it.name == "DapBreakpoint" end):fold(0, function(n) return n + 1 end), 1)

  dap.step_over()
  stops_at("body_return")
  check("a step goes to the next line", variable("product"), "0")
  dap.step_back()
  stops_at("body")
  check("a step back goes to where the step began", variable("i"), "0")
  dap.step_over()
  stops_at("body_return")
  check("a step goes forward again", variable("product"), "0")

  repl.open()
  local function shown(text)
    for _, it in ipairs(vim.api.nvim_list_bufs()) do
      if vim.bo[it].filetype == "dap-repl" then
        local all = vim.api.nvim_buf_get_lines(it, 0, -1, false)
        return vim.iter(all):any(function(line) return line:find(text, 1, true) end)
      end
    end
  end
  vim.cmd.wincmd("p")
  repl.execute("scale * 4 + 2")
  wait("42 in the REPL", function() return shown("42") end)
  check("the REPL evaluates", shown("42"), true)

  dap.continue()
  stops_at("body")
  check("it goes on to the next pass", variable("i"), "1")
  dap.reverse_continue()
  stops_at("body_return")
  check("reverse continue goes to the stop before", variable("i"), "0")
  dap.continue()
  stops_at("body")
  check("continue returns to the present", variable("i"), "1")
  dap.step_out()
  wait("the caller", function()
    local frame = (dap.session() or {}).current_frame
    return frame and frame.name == "main"
  end)
  check("a step out goes to the caller", dap.session().current_frame.line, line_of("call"))

  dap.terminate()
  wait("the end of the session", function() return dap.session() == nil end)
  check("the session ends", dap.session(), nil)

  -- Once more, to the program's own end.
  dap.clear_breakpoints()
  ended = nil
  dap.run(configuration)
  wait("the program's end", function() return ended and dap.session() == nil end)
  wait("its output in the REPL", function() return shown("105") end)
  check("a program runs to its end, and its output is shown", shown("105"), true)
end

local ok, failure = xpcall(run, debug.traceback)
if not ok then
  io.stderr:write("FAILED: ", tostring(failure), "\n")
end
vim.cmd(ok and "qall!" or "cquit 1")
