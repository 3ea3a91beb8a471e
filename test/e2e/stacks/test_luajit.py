"""LuaJIT: its interpreter, and the code that it makes of hot paths (traces), have their callers, although the
interpreter's CFI is wrong in places and traces have none (doc/unwinding.md, "LuaJIT")."""
import shutil
from collections import Counter

import pytest

from whole import WHOLE, cut, profile_still, truncated, user_frames, whole

DEPTH = 6
MADE = "[jit]_[j]"

# Goes down by calls from C (gsub's callback) or by coroutines, each of which is a frame of the interpreter of its
# own; then it burns: in parts that the interpreter calls (%, ^), in C (tostring, sort, concat), and called by C
# (sort's comparison).
PROGRAM = """
local kind, depth, gsub, sort = arg[1], tonumber(arg[2]), string.gsub, table.sort
local function more(a, b) return a > b end
local function burn()
  local t, s = {}, 0
  for i = 1, 300 do
    for k = 1, 20 do s = s + (i + 0.5) % k + math.floor(i / k) + (i + k) ^ 0.5 end
    t[i] = tostring(i % 97)
  end
  sort(t)
  sort(t, more)
  return s + #table.concat(t)
end
local function nest(n)
  if n == 0 then
    for i = 1, 20 do burn() end
  elseif kind == "coroutine" then
    coroutine.wrap(function() nest(n - 1) end)()
  else
    gsub("x", "x", function() nest(n - 1) end)
  end
end
while true do nest(depth) end
"""


def run_lua(start, work, *flags, kind="call", text=PROGRAM):
    luajit = shutil.which("luajit")
    if not luajit:
        pytest.skip("luajit is not installed")
    script = work / "nest.lua"
    script.write_text(text)
    return start(luajit, *flags, script, kind, DEPTH)


def calls_of(profile):
    """[(weight, frames)] of what lies above the call that runs the script; and the interpreter's frame."""
    loops = {s.frames[s.frames.index("lua_cpcall") + 1] for s in profile.stacks if s.has("lua_cpcall")}
    assert len(loops) == 1, loops
    calls = [(s.value, user_frames(s)[user_frames(s).index("lua_pcall") :]) for s in profile.stacks
             if s.has("_start", "__libc_start_main") and s.has("lua_cpcall") and s.has("lua_pcall")]  # fmt: skip
    assert sum(value for value, _ in calls) >= 0.99 * profile.total(), cut(profile)
    return calls, loops.pop()


@pytest.mark.quick
@pytest.mark.parametrize("kind", ["call", "coroutine"])
@pytest.mark.parametrize("flags", [["-joff"], []], ids=["interpreted", "traces"])
def test_each_call_into_lua_is_there(profiler, start, work, flags, kind):
    target = run_lua(start, work, *flags, kind=kind)
    profile_still(profiler, target, thread_frame=0)
    profile = profiler.folded(pid=target.pid, seconds=4)
    assert whole(profile) >= WHOLE, (truncated(profiler), cut(profile))
    calls, loop = calls_of(profile)
    weights = Counter()
    for value, frames in calls:
        weights[frames[2] if len(frames) > 2 + DEPTH else None] += value
    gsub = weights.most_common(1)[0][0]
    expected = (loop, gsub) * DEPTH if kind == "call" else (loop,) * DEPTH
    deep = made = compared = 0
    for value, frames in calls:
        above = frames[1 + len(expected) :]
        if frames[1 : 1 + len(expected)] != expected or not above or above[0] not in (loop, MADE):
            continue  # on its way down
        assert kind == "coroutine" or gsub not in above, frames
        deep += value
        made += value * (MADE in above)
        compared += value * (len(above) > 2 and bool({loop, MADE} & set(above[2:])))
    assert deep >= 0.98 * profile.total(), (gsub, sorted(calls, reverse=True)[:5])
    assert compared >= 0.02 * profile.total(), "sort calls Lua"
    assert (made >= 0.2 * profile.total()) == (not flags), made / profile.total()


# C calls Lua by a function that LuaJIT makes; an error leaves C functions; coroutines yield all the time.
ODD = """
local ffi = require("ffi")
ffi.cdef("void qsort(void *, size_t, size_t, int (*)(const int *, const int *));")
local order = ffi.cast("int (*)(const int *, const int *)", function(a, b) return a[0] - b[0] end)
local numbers, texts = ffi.new("int[2000]"), {}
local function sorts() ffi.C.qsort(numbers, 2000, 4, order) end
jit.off(sorts)
local function fails(a, b) if a > 250 then error("enough") end return a > b end
local yields = coroutine.wrap(function() while true do coroutine.yield() end end)
while true do
  for i = 0, 1999 do numbers[i] = (i * 7919) % 2003 end
  sorts()
  for i = 1, 300 do texts[i] = i end
  pcall(table.sort, texts, fails)
  for i = 1, 2000 do yields() end
end
"""


@pytest.mark.parametrize("flags", [["-joff"], []], ids=["interpreted", "traces"])
def test_no_function_is_missing_where_frames_come_and_go(profiler, start, work, flags):
    target = run_lua(start, work, *flags, text=ODD)
    profile_still(profiler, target, thread_frame=0)
    profile = profiler.folded(pid=target.pid, seconds=4)
    assert whole(profile) >= 0.98, (truncated(profiler), cut(profile))
    calls, loop = calls_of(profile)
    called_back = 0
    for value, frames in calls:
        assert frames[1] in (loop, MADE), frames
        inside = [frame for frame in frames if "sort" in frame and not frame.startswith("[")]
        if "qsort" not in inside and "qsort_r" not in inside:
            assert not inside, frames  # glibc's sort has its callers
            continue
        # the last call into Lua is qsort's
        called_back += value * (loop in frames[frames.index(inside[-1]) :])
    assert called_back >= 0.1 * profile.total(), [(s.value, s.frames) for s in profile.stacks][:10]
