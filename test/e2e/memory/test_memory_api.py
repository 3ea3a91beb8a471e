"""mem and mem_glibc over HTTP: queries that are refused, what GET tells of them, metrics."""
import re
import time

import pytest

from helpers import ours, stopped, wait_for
from test_api import metrics

VIEWS = "view must be one of alloc, inuse, mmap"
AGE = "min_age must be a number from 0 to 31536000"
HELD = "min_age is for what is held: view=inuse or view=mmap of mem_glibc"
COUNT = "value=count is for offcpu, mem, mem_glibc"

REFUSED = [
    ("mem_glibc.svg?view=leak", VIEWS),
    ("mem_glibc.folded?view=", VIEWS),
    ("mem_glibc.svg?view=inuse%00", None),
    ("mem.svg?view=inuse", "mem has no views"),
    ("oncpu.svg?view=alloc", "oncpu has no views"),
    ("mem_glibc.svg?min_age=60", HELD),
    ("mem_glibc.svg?view=alloc&min_age=0", HELD),
    ("oncpu.svg?min_age=60", HELD),
    ("mem_glibc.svg?view=inuse&min_age=soon", AGE),
    ("mem_glibc.svg?view=inuse&min_age=", AGE),
    ("mem_glibc.svg?view=inuse&min_age=-1", AGE),
    ("mem_glibc.svg?view=inuse&min_age=1.5", AGE),
    ("mem_glibc.svg?view=inuse&min_age=31536001", AGE),
    ("mem_glibc.svg?view=mmap&min_age=99999999999999999999", AGE),
    (
        "mem_glibc.svg?view=inuse&min_age=10&seconds=10&pid=1",
        "min_age must be less than seconds: what came before isn't seen then",
    ),
    ("mem_glibc.svg?value=bytes", "value must be count"),
    ("oncpu.svg?value=count", COUNT),
]


@pytest.mark.parametrize("query, message", REFUSED, ids=lambda value: str(value)[:50])
def test_a_query_that_makes_no_sense_is_refused_with_what_does(daemon, query, message):
    answer = daemon.get(f"/flamegraph/{query}")
    assert answer.status == 400, answer.text
    if message == COUNT:  # and other probes
        assert answer.message.startswith(COUNT)
    else:
        assert answer.message == message if message else answer.message


@pytest.mark.parametrize(
    "query",
    ["mem.svg", "mem.svg?value=count", "mem_glibc.json", "mem_glibc.svg?view=ALLOC",
     "mem_glibc.folded?view=inuse&min_age=0", "mem_glibc.svg?view=MMap&min_age=31536000",
     "mem_glibc.jsonl?view=inuse&value=count"],
)  # fmt: skip
def test_a_query_that_makes_sense_asks_for_a_profile(daemon, query):
    answer = daemon.get(f"/flamegraph/{query}")
    assert answer.status == 404
    assert answer.message.startswith("there is no profile yet")


def test_the_params_have_defaults_and_merge(daemon):
    daemon.put_ok(stopped())
    params = daemon.settings()["params"]
    assert (params["mem_fault_bytes"], params["mem_sample_bytes"]) == (65536, 524288)
    daemon.put_ok({"params": {"mem_fault_bytes": 0}})
    daemon.put_ok({"params": {"mem_sample_bytes": 1}})
    params = daemon.settings()["params"]
    assert (params["mem_fault_bytes"], params["mem_sample_bytes"]) == (0, 1)


def test_get_says_what_mem_does_not_see(profiler, start):
    start("spin", 60)
    profiler.profile("^spin$", probes=("mem",))
    status = profiler.probe("mem")
    assert status["state"] == "running"
    assert "MAP_POPULATE" in status["unseen"] and "mlock" in status["unseen"]
    assert "way" not in status and "held" not in status


def test_get_says_how_allocations_are_probed_and_who_pays(profiler, start):
    start("spin", 60)
    profiler.profile("^spin$", probes=("mem_glibc",))
    status = profiler.probe("mem_glibc")
    assert status["state"] == "running"
    assert status["way"] in ("session", "return probes")
    assert "trap" in status["targets_pay"] and "every process" in status["bystanders_pay"]
    held = status["held"]
    assert 0 <= held["now"] <= held["max"] and held["max"] >= 1024
    assert held["refused"] == 0


def test_get_tells_each_targets_allocator_where_it_is_wanted(profiler, start):
    target, other = start("spin", 60), start("thirds", 60)
    profiler.put_ok(
        {
            "cmd": {"probe": ["oncpu", "mem_glibc"]},
            "snoopers": {"proc_name": [ours("^spin$"), ours("^thirds$", probe=["oncpu"])]},
            "params": {"svg_dir": str(profiler.svg_dir), "flame_dir": str(profiler.flame_dir)},
            "state": "running",
        }
    )
    profiler.wait_running("mem_glibc")
    found = wait_for(
        lambda: profiler.processes().get(target.pid, {}).get("allocator", {}).get("points")
        and profiler.processes(),
        why="its points",
    )
    allocator = found[target.pid]["allocator"]
    assert set(allocator) == {"kind", "file", "state", "points", "single_stepped", "why"}
    assert (allocator["kind"], allocator["state"]) == ("glibc", "probed")
    assert re.search(r"/libc[.-]", allocator["file"])
    assert allocator["points"] > allocator["single_stepped"] >= 0
    assert allocator["points"] >= 9
    assert "allocator" not in found[other.pid]


def test_metrics_tell_of_what_is_held_and_probed(profiler, start):
    names = {name for name, _ in metrics(profiler)}
    assert {"stackprobe_held_allocations", "stackprobe_held_allocations_max"} <= names
    start("spin", 60)
    profiler.profile("^spin$", probes=("mem", "mem_glibc"))
    wait_for(lambda: metrics(profiler)["stackprobe_probe_points", None] >= 9, why="points")
    values = metrics(profiler)
    assert values["stackprobe_probed_files", None] >= 1
    assert values["stackprobe_held_allocations_max", None] >= 1024
    profiler.put_ok({"state": "stopped"})
    wait_for(lambda: metrics(profiler)["stackprobe_probe_points", None] == 0, why="none is left")


@pytest.mark.parametrize("unread", ["/flamegraph/mem_glibc.svg?view=inuse&seconds=1"])
def test_a_session_on_demand_of_nobody_is_refused(daemon, unread):
    assert daemon.get(unread).status == 400


def test_a_view_of_a_probe_that_does_not_run_is_404(profiler, start):
    start("spin", 60)
    profiler.profile("^spin$", probes=("mem",))
    time.sleep(0.1)
    for view in ("alloc", "inuse", "mmap"):
        answer = profiler.get(f"/flamegraph/mem_glibc.folded?view={view}")
        assert (answer.status, view) == (404, view)
