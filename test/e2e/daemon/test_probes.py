"""Several probes at once: each begins and ends by itself, for the processes that it is for."""
import contextlib
import errno
import json
import re
import subprocess
from pathlib import Path
from urllib.parse import urlencode

import pytest

import oracle
from asking import stood
from helpers import BIN, HZ, Daemon, lost, ours, program, same_time, wait_burned, wait_for
from seccomp import PERF_EVENT_OPEN, forbidding, needs_filters
from waiting import let_go, ready

BOTH = ("oncpu", "offcpu")
REST = ("main", "rest")
WORK = ("main", "work")


@pytest.fixture
def shifts(start):
    """shifts(rounds): works 10 ms and rests 10 ms so often."""
    return lambda rounds, path="shifts": start(path, rounds, 10, 10)


def states(daemon):
    return {name: p["state"] for name, p in daemon.config()["status"]["probes"].items()}


def wait_states(daemon, **wanted):
    wait_for(lambda: states(daemon) == wanted, why=f"{wanted}, not {states(daemon)}")


def links(daemon):
    """The ids of the BPF links that the daemon holds."""
    found = set()
    for info in Path(f"/proc/{daemon.pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
            found |= {int(number) for number in re.findall(r"link_id:\s*(\d+)", info.read_text())}
    return found


def test_two_probes_see_the_same_process_at_work_and_at_rest(profiler, start, observe):
    target = ready(start, "shifts", 50, 10, 10, "stands by")
    profiler.profile("^shifts$", probes=BOTH, frequency=HZ, minblock=0, max_overhead=0)
    observer, before_ns = observe(HZ), target.cpu_ns_now()
    let_go(target)
    told = target.finish()
    on, off = profiler.folded(), profiler.folded("offcpu")
    waits = profiler.folded("offcpu", value="count")
    assert on.total(*WORK) >= 0.9 * on.total()
    same_time(on.total(), HZ, target.cpu_ns - before_ns, observer.ns(target.pid), within=0.1)
    # its first stacks may be cut, where its tables come late
    seen = waits.total(*REST)
    assert told["waits"] - waits.total("[truncated]") <= seen <= told["waits"]
    assert seen >= 25
    # a sleep takes its time at least; the program's own clock has in it what else kept it waiting
    assert seen * 10_000 <= off.total(*REST) <= told["waited_ns"] / 1000 + seen
    assert lost(profiler.probe("offcpu")) == 0


def test_an_entry_for_off_cpu_only_is_not_sampled_on_its_cpu(profiler, copy, shifts):
    """T20, with two probes: a matching and a non-matching twin for each."""
    names = ("onlyon", "onlyoff", "either", "neither")
    profiler.profile(
        {"comm": "^onlyon$", "probe": ["oncpu"]},
        {"comm": "^onlyoff$", "probe": ["offcpu"]},
        {"comm": "^eith"},
        probes=BOTH,
        frequency=HZ,
        minblock=0,
    )
    targets = [shifts(60000, copy("shifts", name)) for name in names]

    def seen():
        return profiler.folded().names, profiler.folded("offcpu").names

    wanted = {"onlyon", "either"}, {"onlyoff", "either"}
    wait_for(lambda: seen() == wanted, why=lambda: seen())
    wait_burned(*(target.pid for target in targets), seconds=0.1)
    assert seen() == wanted


def test_a_process_that_was_there_is_followed_for_its_probe_only(profiler, copy, shifts):
    on, off = (shifts(2000, copy("shifts", name)) for name in ("onlyon", "onlyoff"))
    entries = [
        {"comm": "^onlyon$", "probe": ["oncpu"]},
        {"comm": "^onlyoff$", "cmdline": "2000 10", "probe": ["offcpu"]},
    ]
    profiler.profile(*entries, probes=BOTH, frequency=HZ)
    wait_burned(on.pid, off.pid, seconds=0.2)
    assert profiler.folded().pids == {on.pid}
    assert profiler.folded("offcpu").pids == {off.pid}
    entries[0]["probe"] = ["offcpu"]
    profiler.put_ok({"snoopers": {"proc_name": [ours(**each) for each in entries]}})
    wait_for(lambda: profiler.folded("offcpu").pids == {on.pid, off.pid}, why="both")


def test_a_probe_comes_and_goes_and_the_other_goes_on(profiler, start, shifts, observe):
    """The other one's links stay, and it loses nothing."""
    profiler.profile("^spin$|^shifts$", probes=["oncpu"], frequency=HZ)
    before = links(profiler)
    target = stood(start)
    wait_for(lambda: target.pid in profiler.processes(), why="it is chosen")
    observer, before_ns = observe(HZ), target.cpu_ns_now()
    let_go(target)
    wait_burned(target.pid, seconds=0.3)
    profiler.put_ok({"cmd": {"probe": list(BOTH)}})
    wait_states(profiler, oncpu="running", offcpu="running")
    with_both = links(profiler)
    assert before < with_both
    other = shifts(60000)
    wait_for(lambda: profiler.folded("offcpu").total(*REST) > 150_000, why="rests")
    other.kill()
    profiler.put_ok({"cmd": {"probe": ["oncpu"]}})
    wait_states(profiler, oncpu="running")
    wait_for(lambda: links(profiler) == before, why="the first links and no other")
    # what it had seen is in its file; the other's period goes on
    written = wait_for(lambda: profiler.files(profiler.flame_dir / "offcpu", "folded"))
    assert "main;rest" in written[0].read_text()
    assert not (profiler.flame_dir / "oncpu").exists()
    wait_burned(target.pid, seconds=1)
    oracle.stop(target.pid)
    on = profiler.folded(pid=target.pid)
    same_time(on.total(), HZ, target.cpu_ns_now() - before_ns, observer.ns(target.pid))
    assert lost(profiler.probe()) == 0


def test_a_probe_takes_the_place_of_another(profiler, shifts):
    target = shifts(2000)
    profiler.profile("^shifts$", probes=["oncpu"], frequency=HZ)
    wait_burned(target.pid, seconds=0.1)
    profiler.put_ok({"cmd": {"probe": ["offcpu"]}})
    wait_states(profiler, offcpu="running")
    written = wait_for(lambda: profiler.files(profiler.flame_dir / "oncpu", "folded"))
    assert "main;work" in written[0].read_text()
    assert "main;work" in profiler.get("/flamegraph/oncpu.folded").text, "the last period"
    wait_for(lambda: profiler.folded("offcpu").total(*REST) > 0, why="rests")
    profiler.put_ok({"state": "stopped"})
    wait_for(lambda: not links(profiler), why="nothing is attached")
    assert states(profiler) == {"offcpu": "stopped"}


def test_a_change_of_params_closes_the_window_of_each(profiler, shifts):
    target = shifts(2000)
    profiler.profile("^shifts$", probes=BOTH, frequency=HZ)
    wait_burned(target.pid, seconds=0.1)
    profiler.put_ok({"params": {"minblock": 10_000_000}})
    for probe in BOTH:
        wait_for(lambda: profiler.files(profiler.flame_dir / probe, "folded"), why=probe)
    assert profiler.settings()["params"]["minblock"] == 10_000_000
    profiler.folded("offcpu")  # what ended until the limit was told
    before = profiler.folded("offcpu").total()
    wait_burned(target.pid, seconds=0.1)
    assert profiler.folded("offcpu").total() == before, "rests are shorter"


def test_what_stops_and_goes_on_at_once_has_a_file_of_each_time(profiler, start):
    target = start("spin", 60)
    profiler.profile("^spin$", probes=["oncpu"], frequency=HZ)
    wait_burned(target.pid, seconds=0.1)
    profiler.put_ok({"state": "stopped"})
    profiler.put_ok({"state": "running"})
    profiler.wait_running()
    wait_for(lambda: len(profiler.written()) == 1, why="a file")
    before = profiler.probe()["samples"]
    wait_for(lambda: profiler.probe()["samples"] > before, why="it goes on")
    assert profiler.folded(pid=target.pid).total() > 0
    profiler.put_ok({"state": "stopped"})
    wait_for(lambda: len(profiler.written()) == 2, why="another one")


def test_waits_are_counted_on_demand_too_and_only_where_there_are_any(profiler, shifts):
    target = shifts(2000)

    def while_it_waits(ask):
        """What is asked has to be some waits, and no more than there were meanwhile."""
        before = oracle.process(target.pid).voluntary
        assert 3 <= ask() <= oracle.process(target.pid).voluntary - before

    counts = {"value": "count", "seconds": 1, "pid": target.pid}
    while_it_waits(lambda: profiler.folded("offcpu", **counts).total(*REST))
    svg = profiler.get(f"/flamegraph/offcpu.svg?value=count&seconds=1&pid={target.pid}").text
    assert "Off-CPU Waits Flame Graph" in svg and 'data-unit="waits"' in svg
    svg = profiler.get(f"/flamegraph/offcpu.svg?seconds=1&pid={target.pid}").text
    assert "Off-CPU Time Flame Graph" in svg and 'data-unit="us"' in svg and " waits" in svg
    path = "/flamegraph/offcpu.json?" + urlencode(counts)
    while_it_waits(lambda: profiler.get(path).json()["total"])


@pytest.mark.parametrize("query", ["offcpu.svg?value=time", "oncpu.svg?value=count"])
def test_another_value_is_refused(daemon, query):
    answer = daemon.get(f"/flamegraph/{query}")
    assert answer.status == 400
    assert "value" in answer.message


def test_a_session_on_demand_has_the_configured_limits(profiler, shifts):
    target = shifts(2000)
    profiler.put_ok(profiler.wanting("^none$", probes=["offcpu"], state="stopped", minblock=10**7))
    assert profiler.folded("offcpu", seconds=1, pid=target.pid).total() == 0
    profiler.put_ok({"params": {"minblock": 50}})
    assert profiler.folded("offcpu", seconds=1, pid=target.pid).total(*REST) >= 3 * 10_000


def test_on_cpu_on_demand_beside_off_cpu_leaves_its_links(profiler, shifts):
    target = shifts(2000)
    profiler.profile("^none$", probes=["offcpu"], frequency=HZ)
    before = links(profiler)
    wait_for(lambda: profiler.folded(seconds=1, pid=target.pid).total(*WORK) > 10, why="work")
    wait_for(lambda: links(profiler) == before)
    assert states(profiler) == {"offcpu": "running"}


# ---- a probe that can't run ----


@pytest.fixture
def without_clocks(work, needs_bpf, monkeypatch):
    """A daemon on a machine that has no CPU clock events."""
    needs_filters()
    started = Daemon(work)
    popen = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda *a, **k: popen(*a, **k, preexec_fn=forbidding(PERF_EVENT_OPEN, error=errno.EACCES))
    )
    started.start()
    monkeypatch.undo()
    yield started
    started.done()


def test_a_probe_that_can_not_run_is_unsupported_beside_one_that_runs(without_clocks, shifts):
    daemon = without_clocks
    shifts(2000)
    daemon.put_ok(daemon.wanting("^shifts$", probes=BOTH))
    wait_states(daemon, oncpu="unsupported", offcpu="running")
    assert "(seccomp) refuses perf_event_open()" in daemon.probe("oncpu")["reason"]
    assert daemon.probe("offcpu")["reason"] == ""
    wait_for(lambda: daemon.folded("offcpu").total(*REST) > 0)
    assert daemon.get("/flamegraph/oncpu.folded").status == 404
    assert "oncpu can't run" in daemon.log
    metrics = daemon.get("/metrics").text
    assert 'probe_up{feature="flamegraph",probe="oncpu"} 0' in metrics
    assert 'probe_down{feature="flamegraph",probe="oncpu"} 1' in metrics
    assert 'probe_up{feature="flamegraph",probe="offcpu"} 1' in metrics


def test_where_none_can_run_it_is_503_and_what_ran_goes_on(without_clocks, shifts):
    daemon = without_clocks
    shifts(2000)
    daemon.put_ok(daemon.wanting("^shifts$", probes=["offcpu"]))
    wait_states(daemon, offcpu="running")
    before = daemon.settings(), links(daemon)
    answer = daemon.put({"cmd": {"probe": ["oncpu"]}})
    assert answer.status == 503
    assert "CPU clock event" in answer.message
    assert (daemon.settings(), links(daemon)) == before
    assert states(daemon) == {"offcpu": "running"}


# ---- record ----


def record(*args, cwd):
    return subprocess.run(
        [str(a) for a in (BIN, "record", *args)], cwd=cwd, capture_output=True, text=True,
        timeout=60, check=False,
    )


def test_a_recording_of_both_has_a_file_for_each(needs_bpf, work):
    ended = record("-e", "oncpu,offcpu", "-F", 1000, "-o", "x.folded", "--", program("shifts"),
                   20, 10, 10, cwd=work)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert "main;work" in (work / "x.oncpu.folded").read_text()
    assert "main;rest" in (work / "x.offcpu.folded").read_text()
    assert f" us of 1 process, " in ended.stderr and " waits, in " in ended.stderr
    assert told["waits"] >= 20
    assert not (work / "x.folded").exists()


def test_a_recording_of_waits_alone(needs_bpf, work):
    ended = record("-q", "-e", "offcpu", "-o", "x.svg", "--", program("shifts"), 20, 1, 10, cwd=work)
    assert ended.returncode == 0, ended.stderr
    assert "Off-CPU Time Flame Graph" in (work / "x.svg").read_text()
