"""io under max_overhead: stacks are thinned, each stack that is taken stands for others, and bytes and calls stay true
within chance."""
from math import sqrt
from pathlib import Path

from helpers import lost
from test_io import ask, profile_io
from waiting import answer, let_go, ready, stands_by

# Functions that write so many bytes so often, in turns.
SMALL, LARGE = (1000, 450_000), (9000, 150_000)
WRITES = f"""
import json, os, signal
null = os.open("/dev/null", os.O_WRONLY)
small, large = b"x" * {SMALL[0]}, b"x" * {LARGE[0]}
def writes_small(write=os.write):
    for _ in range({SMALL[1]} // 100): write(null, small)
def writes_large(write=os.write):
    for _ in range({LARGE[1]} // 100): write(null, large)
signal.raise_signal(signal.SIGSTOP)
for _ in range(100):
    writes_small()
    writes_large()
print(json.dumps({{"done": 1}}), flush=True)
signal.raise_signal(signal.SIGSTOP)
"""


def test_stacks_are_thinned_and_bytes_and_calls_stay_true_within_chance(profiler, start):
    target = ready(start, Path("/usr/bin/python3"), "-c", WRITES)
    profile_io(profiler, target, max_overhead=3)
    let_go(target)
    most = 1
    while not (stands_by(target) and "done" in target.log.read_text()):
        most = max(most, profiler.probe("io")["thinned"])
    assert answer(target) == {"done": 1}
    told = profiler.probe("io")
    assert most > 1 and told["samples"] < (SMALL[1] + LARGE[1]) / 2, (most, told)
    assert lost(told) == 0, told
    in_bytes, in_calls = ask(profiler), ask(profiler, value="count")
    for function, (each, calls) in {"writes_small": SMALL, "writes_large": LARGE}.items():
        frames = (f"{function} (<string>)_[p]", "[write]", "[other]")
        found = sum(s.value for s in in_calls.stacks if {*frames} <= {*s.frames})
        # A call that is taken stands for `most` at most, or for some more between two looks: five standard deviations.
        assert abs(found - calls) <= 5 * sqrt(2 * most * calls), (function, found, calls, most)
        assert sum(s.value for s in in_bytes.stacks if {*frames} <= {*s.frames}) == found * each, function
    assert " · thinned to 1 in " in profiler.get("/flamegraph/io.svg").text
    assert 'stackprobe_thinned{probe="io"}' in profiler.get("/metrics").text


def test_without_a_limit_none_is_thinned(profiler, start):
    target = ready(start, Path("/usr/bin/python3"), "-c", WRITES.replace("range(100)", "range(10)"))
    profile_io(profiler, target, max_overhead=0)
    let_go(target)
    answer(target)
    in_calls = ask(profiler, value="count")
    assert in_calls.total("[write]", "[other]") == (SMALL[1] + LARGE[1]) / 10
    assert profiler.probe("io")["thinned"] == 1
    assert "thinned" not in profiler.get("/flamegraph/io.svg").text
