"""Starting, stopping, being killed, staying small and quiet."""
import os
import random
import re
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

import oracle
from asking import burned, stood
from folded import Profile
from helpers import HZ, SAN, by_name_alone, ours, same_time, wait_burned, wait_for

CPU1 = Path("/sys/devices/system/cpu/cpu1/online")


def bpf_fds(pid):
    """BPF programs, links and perf events that a process holds: {(fd, what, ids)}."""
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            what = os.readlink(f"/proc/{pid}/fd/{fd}")
            info = Path(f"/proc/{pid}/fdinfo/{fd}").read_text()
        except FileNotFoundError:
            continue
        if re.search(r"bpf[-_](prog|link)|perf_event", what):
            found.add((fd, what, tuple(re.findall(r"(?:prog|link)_id:\s*(\d+)", info))))
    return found


def program_ids(pid):
    """Ids of the BPF programs a process holds, by itself or by a link."""
    ids = set()
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            info = Path(f"/proc/{pid}/fdinfo/{fd}").read_text()
        except FileNotFoundError:
            continue  # closed just now
        ids.update(int(number) for number in re.findall(r"prog_id:\s*(\d+)", info))
    return ids


def all_program_ids():
    """Ids of all BPF programs in the kernel."""
    bpftool = shutil.which("bpftool") or shutil.which("bpftool", path="/usr/sbin:/sbin")
    if not bpftool:
        pytest.skip("bpftool is not installed")
    listed = subprocess.run([bpftool, "prog", "list"], capture_output=True, text=True, check=True)
    return {int(number) for number in re.findall(r"^(\d+):", listed.stdout, re.MULTILINE)}


def switches(pid):
    """How often its threads have been switched out, by themselves or not."""
    text = "".join(p.read_text() for p in Path(f"/proc/{pid}/task").glob("*/status"))
    return sum(map(int, re.findall(r"voluntary_ctxt_switches:\s*(\d+)", text)))


def quiet(pid, seconds=3):
    before = switches(pid)
    time.sleep(seconds)
    return switches(pid) == before


def rss_kb(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])


def test_nothing_is_loaded_and_nothing_wakes_up_before_the_first_start(daemon):
    assert bpf_fds(daemon.pid) == set()
    time.sleep(0.5)
    assert quiet(daemon.pid) or quiet(daemon.pid)


@pytest.mark.quick
def test_stopped_means_no_bpf_program_and_no_wake_up(profiler, start):
    profiler.profile("^spin$")
    burning = start("spin", 60)
    wait_burned(burning.pid, seconds=0.2)
    assert bpf_fds(profiler.pid)
    held = program_ids(profiler.pid)
    assert held <= all_program_ids()
    profiler.put_ok({"state": "stopped"})
    wait_for(lambda: profiler.probe()["state"] == "stopped", why="stopped")
    wait_for(lambda: not bpf_fds(profiler.pid), why="no BPF program held")
    wait_for(lambda: not held & all_program_ids(), why="no BPF program left")
    time.sleep(1)
    assert quiet(profiler.pid) or quiet(profiler.pid), "wakes up while stopped"
    burning.kill()


def test_a_stopped_probe_starts_again_with_the_configuration_it_had(profiler, start, observe):
    profiler.profile("^spin$", frequency=HZ)
    settings = profiler.settings()
    for _ in range(3):
        profiler.put_ok({"state": "stopped"})
        assert profiler.settings() == {**settings, "state": "stopped"}
        profiler.put_ok({"state": "stopped"})
        profiler.put_ok({"state": "running"})
        profiler.wait_running()
        assert profiler.settings() == settings
    target = stood(start)
    samples, _, beside_ns = burned(profiler, target, observe(HZ), seconds=1)
    assert samples >= 0.9 * beside_ns * HZ / 1e9


def test_a_repeated_put_and_one_more_process_disturb_nothing_that_runs(profiler, start, observe):
    target = start("spin", 60)
    profiler.profile("^spin$", frequency=HZ)
    links = bpf_fds(profiler.pid)
    oracle.stop(target.pid)
    before, before_ns = profiler.folded().total(pid=target.pid), target.cpu_ns_now()
    observer = observe(HZ)
    os.kill(target.pid, signal.SIGCONT)
    for _ in range(10):
        profiler.put_ok(profiler.settings())
    other = start("thirds", 60)
    doc = {"snoopers": {"proc_id": [other.pid], "proc_name": [ours("^spin$")]}}
    profiler.put_ok(doc)
    assert bpf_fds(profiler.pid) == links
    profiler.put_ok({"cmd": {"probe": ["oncpu", "mem"]}})
    assert bpf_fds(profiler.pid) > links
    wait_burned(target.pid, other.pid, seconds=1)
    target.kill()
    profile = profiler.folded()
    sampled = profile.total(pid=target.pid) - before
    same_time(sampled, HZ, target.cpu_ns - before_ns, observer.ns(target.pid), within=0.06)
    assert profile.total(pid=other.pid) > 0
    assert profiler.written() == []


def test_a_refused_put_leaves_what_runs_as_it_is(profiler, start, observe):
    profiler.profile("^spin$", frequency=HZ)
    links = bpf_fds(profiler.pid)
    bad = profiler.wanting("^other$", svg_period=1)
    assert profiler.put(bad).status == 400
    assert bpf_fds(profiler.pid) == links
    samples, _, beside_ns = burned(profiler, stood(start), observe(HZ))
    assert samples >= 0.9 * beside_ns * HZ / 1e9


def test_five_native_targets_cost_at_most_thirty_megabytes(profiler, start):
    if SAN:
        pytest.skip("a sanitizer needs memory of its own")
    targets = [
        start("spin", 60),
        start("thirds", 60),
        start("threads", 60),
        start("cxxnames", 60),
        start("deep", 100, 60),
    ]
    profiler.profile(pids=[target.pid for target in targets], frequency=100)
    for _ in range(3):
        wait_burned(*(target.pid for target in targets), seconds=0.3)
        profile = profiler.folded()
    assert profile.pids == {target.pid for target in targets}
    assert rss_kb(profiler.pid) <= 30 * 1024


def test_memory_does_not_grow_with_processes_that_come_and_go(profiler, start, copy):
    if SAN:
        pytest.skip("a sanitizer keeps freed memory")

    def many():
        spawner = start("spawner", 300, 0, copy("short_lived", "come_and_go"), 0.002)
        spawner.finish()
        profiler.folded()

    profiler.profile(by_name_alone("^come_and_go$"), frequency=HZ)
    many()
    before_kb = rss_kb(profiler.pid)
    for _ in range(3):
        many()
    assert rss_kb(profiler.pid) <= before_kb + 4096


def test_sigkill_leaves_no_bpf_program_and_a_restart_works_at_once(profiler, start, observe):
    profiler.profile("^spin$", frequency=HZ)
    ids = program_ids(profiler.pid)
    assert ids and ids <= all_program_ids()
    profiler.kill()
    wait_for(lambda: not ids & all_program_ids(), why="no BPF program left")
    profiler.start()
    assert profiler.get("/flamegraph").json() == {}
    profiler.profile("^spin$", frequency=HZ)
    samples, _, beside_ns = burned(profiler, stood(start), observe(HZ))
    assert samples >= 0.9 * beside_ns * HZ / 1e9


@pytest.mark.parametrize("turn", range(4))
def test_sigkill_in_the_middle_of_writing_leaves_no_half_file(profiler, start, turn):
    """Killed 0 to 40 ms after the stop that writes; each file that is there is whole."""
    for _ in range(4):
        start("threads", 60)
    profiler.profile("^threads$", frequency=HZ, multi_instance=turn % 2)
    time.sleep(0.5)
    stop = threading.Thread(target=lambda: ignore_errors(profiler.put, {"state": "stopped"}))
    stop.start()
    time.sleep(random.uniform(0, 0.04))
    profiler.kill()
    stop.join()
    for svg in profiler.files(profiler.svg_dir, "svg"):
        ElementTree.parse(svg)
    for folded in profiler.files(profiler.flame_dir, "folded"):
        assert Profile(folded.read_text()).total() > 0
    profiler.start()


def ignore_errors(call, *args):
    """The daemon is killed meanwhile: any end of the connection is right."""
    try:
        call(*args)
    except Exception:  # pylint: disable=broad-except
        pass


def test_a_restart_removes_temporary_files_of_a_process_that_is_gone(profiler, start):
    profiler.profile("^spin$")
    profiler.put_ok({"state": "stopped"})
    gone = start("spin", 0)
    gone.finish()
    profiler.kill()
    leftovers = []
    for folder in (profiler.svg_dir, profiler.flame_dir):
        (folder / ".stackprobe-tmp").mkdir(mode=0o750, parents=True, exist_ok=True)
        leftovers.append(folder / ".stackprobe-tmp" / f"{gone.pid}-1")
        leftovers[-1].write_text("half a fi")
    stranger = profiler.svg_dir / "notes.txt"
    stranger.write_text("mine")
    profiler.start()
    profiler.profile("^spin$")
    wait_for(lambda: not any(p.exists() for p in leftovers), why="leftovers removed")
    assert stranger.read_text() == "mine"


@pytest.mark.alone("it takes a CPU away from all")
def test_a_cpu_that_comes_back_is_sampled(profiler, start, observe):
    if not os.access(CPU1, os.W_OK):
        pytest.skip(f"{CPU1} can't be written: no CPU hot-plug here")
    if 1 not in os.sched_getaffinity(0):
        pytest.skip("cpu1 is not among this process's CPUs")
    if Path("/proc/self/cpuset").read_text().strip() not in ("", "/"):
        pytest.skip("in a cpuset, which would lose cpu1 for ever")
    profiler.profile("^spin$", frequency=HZ)
    try:
        CPU1.write_text("0")
        time.sleep(0.5)
        assert profiler.alive()
    except OSError as error:
        pytest.skip(f"cpu1 can't be taken offline: {error}")
    finally:
        CPU1.write_text("1")
    time.sleep(0.5)
    target = stood(start, cpu=1)
    samples, cpu_ns, beside_ns = burned(profiler, target, observe(HZ), seconds=1.5)
    same_time(samples, HZ, cpu_ns, beside_ns, within=0.04)
    assert profiler.probe()["state"] == "running"
