"""java_source: jfr, by the daemon: what VMs have recorded, in whole windows and only there; the kernel's
stacks everywhere else."""
import ctypes
import os
import re
import signal
import struct
import time
from pathlib import Path

import pytest

import java_jfr
from folded import Profile
from helpers import wait_burned, wait_for
from java_truth import Truth, java_frames, merged
from java_unreadable import unreadable
from java_vm import Vm
from javas import Leaves, javas, need_classes
from test_java_jfr import RIGHT, WAITS

PROBES = ("oncpu", "offcpu", "mem")
SECONDS = 8
UNREADABLE = "its tables can't be read"
HERE = javas()
NEWEST = pytest.mark.parametrize("java", HERE[-1:], ids=[java.name for java in HERE[-1:]])
pytestmark = pytest.mark.usefixtures("vms")


@pytest.fixture(autouse=True)
def jar():
    if not java_jfr.JAR.exists() or not java_jfr.JAR.stat().st_size:
        pytest.skip("built without a JDK")


def profile(daemon, *targets, probes=PROBES, **params):
    asked = {"java_source": "jfr", "multi_instance": 1, "native_stack": 0, "max_overhead": 0, **params}
    daemon.profile(pids=[target.pid for target in targets], probes=probes, **asked)


def source_of(daemon, target):
    told = daemon.processes().get(target.pid, {})
    return told.get("java_source"), told.get("java_reason")


def wait_source(daemon, *targets, source="jfr", reason="asked for"):
    end = time.monotonic() + 40
    while {source_of(daemon, target) for target in targets} != {(source, reason)}:
        assert time.monotonic() < end, ([source_of(daemon, t) for t in targets], daemon.log[-2000:])
        daemon.folded()  # a window ends
        time.sleep(1)


def jfr_of(daemon):
    return daemon.config()["status"]["java"]["jfr"]


class Period:
    """A period's files: what was sampled from one look to the next."""

    def __init__(self, daemon):
        self.daemon, self.serial = daemon, 600

    def end(self, *targets, probes=PROBES):
        """{probe: Profile of all}, of the time since the last one; a part that is not asked for may be
        missing."""
        before = self.written()
        self.serial += 1
        self.daemon.put_ok({"params": {"java_symbol_refresh_interval": self.serial}})

        def new():
            return self.now() - before

        def all_there():
            found = {(probe, pid) for probe in probes for pid in map(str, (t.pid for t in targets))
                     if any(f"/{probe}/" in str(path) and pid in path.name for path in new())}  # fmt: skip
            return len(found) == len(probes) * len(targets)

        wait_for(all_there, 30, why="the period's files")
        return {probe: Profile("".join(path.read_text() for path in new() if f"/{probe}/" in str(path)))
                for probe in probes}  # fmt: skip

    def now(self):
        return set(self.daemon.files(self.daemon.flame_dir, "folded"))

    def written(self):
        """All files, once those of a period that has ended just now are there."""

        def still():
            seen = self.now()
            time.sleep(1)
            return self.now() == seen

        wait_for(still, why="no file comes")
        return self.now()


def is_recorded(stack):
    """JFR tells no files."""
    return not any(re.search(r" \(\w+\.java(:\d+)?\)_\[", frame) for frame in stack.frames)


def burn(*vms, seconds=1):
    """A hundred samples of each, and fifty of JFR's."""
    for vm in vms:
        vm.be_late()
    wait_burned(*(vm.pid for vm in vms), seconds=seconds)


def share_recorded(stacks):
    """Of those with Java's frames; a VM's own threads aren't in what it records."""
    stacks = [s for s in stacks if java_frames(s)]
    if any(is_recorded(s) for s in stacks):
        assert not any("[jvm]" in s.frames for s in stacks)
    assert sum(s.value for s in stacks) >= 5, stacks
    return sum(s.value for s in stacks if is_recorded(s)) / sum(s.value for s in stacks)


def missing_borders(daemon):
    """On a busy host the border of a VM's window may be missing: it has the kernel's stacks then, which is counted."""
    return jfr_of(daemon)["fell_back_by"]["border"]


def is_recorded_whole(daemon, stacks, borders):
    """All of it is JFR's, unless a border has gone missing since there were so many."""
    return share_recorded(stacks) == 1 or missing_borders(daemon) > borders


def test_stacks_are_those_that_the_program_told(profiler, java, work):
    program = Leaves(java, work)
    try:
        program.ready()
        profile(profiler, program, thread_frame=1, frequency=100)
        wait_source(profiler, program)
        period = Period(profiler)
        period.end(program, probes=("oncpu",))
        wait_burned(program.pid, seconds=4)
        stacks = period.end(program, probes=("oncpu",))["oncpu"].of(program.pid)
        told = program.written()
    finally:
        program.kill()
    truth = Truth(told)
    found = truth.judged(stacks)
    whole = merged(found[name] for name in truth.leaves)
    print(f"java_jfr_daemon: {java.name} {whole.text(3)}\n{jfr_of(profiler)}")
    assert whole.total >= 100  # a second
    assert whole.share("right") >= RIGHT, whole.text(4)
    assert jfr_of(profiler)["windows"] > 0


def read_clocks(work, name, count):
    data = (work / f"{name}.clocks").read_bytes()
    return time.monotonic(), struct.unpack_from(f"{count}q", data)


def window_s(target, probe):
    """How long the window was that a VM wrote last."""
    head, *_ = java_jfr.read(Path(f"/proc/{target.pid}/root/tmp/java-data-{target.pid}/stacks-{probe}.txt"))
    return (head.end_us - head.begin_us) / 1e6


def test_waits_weigh_what_they_lasted(profiler, java, start, work):
    need_classes()
    target = start(Path(java.path), *java.argv("Waits", work / "waits")[1:])
    names = wait_for(lambda: "waiters" in target.log.read_text() and target.first_line(), 60)["waiters"]
    profile(profiler, target, thread_frame=1)
    wait_source(profiler, target)
    period = Period(profiler)
    period.end(target, probes=("offcpu",))
    began, before = read_clocks(work, "waits", len(names))
    time.sleep(SECONDS)
    ended, after = read_clocks(work, "waits", len(names))
    stacks = period.end(target, probes=("offcpu",))["offcpu"].of(target.pid)
    # The clocks are read somewhat before the windows' ends.
    share = window_s(target, "offcpu") / (ended - began)
    spent = {name: (b - a) / 1000 * share for name, a, b in zip(names, before, after)}
    for name, methods in WAITS.items():
        mine = [s for s in stacks if s.frames[1] == name]
        blocked = sum(s.value for s in mine)
        right = sum(s.value for s in mine if methods & {frame.name for frame in java_frames(s)})
        print(f"java_jfr_daemon: {java.name} {name} {blocked / spent[name]:.2%} of {spent[name] / 1e6:.2f} s")
        assert abs(blocked - spent[name]) <= 0.05 * spent[name], name
        assert right >= RIGHT * blocked, (name, mine)


def test_memory_is_what_was_allocated(profiler, java, start, work):
    need_classes()
    flags = ["-XX:-FastTLABRefill"] if java.release == 8 else []  # doc/java.md: else it misses large objects
    target = start(Path(java.path), *java.argv("Allocates", work / "bytes", flags=flags)[1:])
    wait_for(lambda: "allocators" in target.log.read_text(), 60)
    profile(profiler, target, probes=("oncpu", "mem"), thread_frame=1)
    wait_source(profiler, target)
    period = Period(profiler)
    period.end(target, probes=("mem",))
    began, before = read_clocks(work, "bytes", 2)
    time.sleep(SECONDS)
    ended, after = read_clocks(work, "bytes", 2)
    stacks = period.end(target, probes=("mem",))["mem"].of(target.pid)
    share = window_s(target, "mem") / (ended - began)
    for name, a, b in zip(("Large", "Small"), before, after):
        spent = (b - a) * share
        mine = [s for s in stacks if s.frames[1] == name]
        found = sum(s.value for s in mine)
        right = sum(s.value for s in mine if s.frames[-1].startswith(f"truth.Allocates${name}.turn"))
        print(f"java_jfr_daemon: {java.name} {name} {found / spent:.2%} of {spent / 1e6:.1f} MB")
        assert abs(found - spent) <= 0.1 * spent, name  # JFR draws its samples
        assert right >= RIGHT * found, mine


def test_nothing_is_there_twice(profiler, java, vm):
    """What the VM wrote last is the period, all of it and nothing else."""
    one = vm()
    profile(profiler, one, frequency=100)
    wait_source(profiler, one)
    period = Period(profiler)
    period.end(one, probes=("oncpu", "offcpu"))
    time.sleep(4)
    profiles = period.end(one, probes=("oncpu", "offcpu"))
    for probe, unit in (("oncpu", 10**7), ("offcpu", 1000)):
        _, stacks, _ = java_jfr.read(one.data / f"stacks-{probe}.txt")
        assert profiles[probe].total(pid=one.pid) == sum(s.value for s in stacks) // unit, probe
    assert jfr_of(profiler)["fell_back"] == 0
    picture = max(profiler.files(profiler.svg_dir, "svg"), key=lambda path: path.stat().st_mtime).read_text()
    assert " (JFR)</text>" in picture and "recorded by the Java VM" in picture


def test_a_vm_that_is_killed_in_a_window_has_the_kernels_stacks(profiler, java, vm):
    one, other = vm(), vm()
    profile(profiler, one, other)
    wait_source(profiler, one, other)
    period = Period(profiler)
    period.end(one, other, probes=("oncpu",))
    borders = missing_borders(profiler)
    burn(one, other)
    one.kill()
    found = period.end(one, other, probes=("oncpu",))["oncpu"]
    assert share_recorded(found.of(one.pid)) < 0.1
    assert is_recorded_whole(profiler, found.of(other.pid), borders)
    told = jfr_of(profiler)
    # on a busy host a window before may have ended without its border
    assert (told["fell_back"] - told["fell_back_by"]["border"], told["fell_back_by"]["ended"]) == (1, 1), told
    profiler.folded()  # a window ends
    wait_for(lambda: one.left() == [], why="nothing is left")


@NEWEST
def test_a_vm_that_stands_still_has_the_kernels_stacks(profiler, java, vm):
    one, other = vm(), vm()
    profile(profiler, one, other)
    wait_source(profiler, one, other)
    period = Period(profiler)
    period.end(one, other, probes=("oncpu",))
    borders = missing_borders(profiler)
    burn(one, other)
    os.kill(one.pid, signal.SIGSTOP)
    found = period.end(one, other, probes=("oncpu",))["oncpu"]
    assert share_recorded(found.of(one.pid)) < 0.1
    assert is_recorded_whole(profiler, found.of(other.pid), borders)
    os.kill(one.pid, signal.SIGCONT)
    burn(one, other)
    found = period.end(one, other, probes=("oncpu",))["oncpu"]  # for where does its own begin?
    assert share_recorded(found.of(one.pid)) < 0.1

    def both_recorded():
        burn(one, other)
        found = period.end(one, other, probes=("oncpu",))["oncpu"]
        return share_recorded(found.of(one.pid)) == share_recorded(found.of(other.pid)) == 1

    then = missing_borders(profiler)
    assert both_recorded() or missing_borders(profiler) > then and both_recorded()
    told = jfr_of(profiler)["fell_back_by"]
    assert told["stopped"] == 1 and then > borders and sum(told.values()) == 1 + told["border"], told


def thread_of(vm, name):
    for path in Path(f"/proc/{vm.pid}/task").iterdir():
        if (path / "comm").read_text().startswith(name):
            return int(path.name)
    return None


@NEWEST
def test_a_vm_that_does_not_answer_costs_the_bound(profiler, java, vm):
    one, other = vm(), vm()
    profile(profiler, one, other)
    wait_source(profiler, one, other)
    period = Period(profiler)
    period.end(one, other, probes=("oncpu",))
    borders = missing_borders(profiler)
    libc, tid = ctypes.CDLL(None, use_errno=True), thread_of(one, "Attach Listener")
    assert libc.ptrace(16, tid, 0, 0) == 0  # PTRACE_ATTACH: that thread stops, no other
    try:
        burn(one, other)
        found = period.end(one, other, probes=("oncpu",))["oncpu"]
    finally:
        os.waitpid(tid, 0x40000000)
        libc.ptrace(17, tid, 0, 0)
    assert share_recorded(found.of(one.pid)) < 0.1
    assert is_recorded_whole(profiler, found.of(other.pid), borders)
    wait_source(profiler, one)
    profiler.put_ok({"state": "stopped"})
    wait_for(lambda: one.left() == [] and other.left() == [], 20, why="nothing is left")


def test_another_session_has_the_kernels_stacks(profiler, java, vm):
    one = vm()
    one.be_late()
    profile(profiler, one)
    wait_source(profiler, one)
    period = Period(profiler)
    period.end(one, probes=("oncpu",))
    answer = profiler.get(f"/flamegraph/oncpu.folded?seconds=4&pid={one.pid}", timeout=40)
    found = period.end(one, probes=("oncpu",))["oncpu"]
    stacks = Profile(answer.text).of(one.pid)
    assert share_recorded(stacks) < 0.1
    assert share_recorded(found.of(one.pid)) == 1


@pytest.mark.quick
def test_another_source_while_it_runs(profiler, java, vm):
    one = vm()
    profile(profiler, one)
    wait_source(profiler, one)
    period = Period(profiler)
    profiler.put_ok({"params": {"java_source": "native"}})
    wait_for(lambda: one.left() == [], 20, why="nothing is left")
    wait_source(profiler, one, source="native")
    period.end(one, probes=("oncpu",))
    burn(one)
    assert share_recorded(period.end(one, probes=("oncpu",))["oncpu"].of(one.pid)) < 0.1
    profiler.put_ok({"params": {"java_source": "jfr"}})
    wait_source(profiler, one)
    profiler.put_ok({"cmd": {"probe": ["oncpu"]}})
    wait_source(profiler, one)
    assert '"stackprobe' not in one.log.read_text() and one.alive()
    profiler.put_ok({"state": "stopped"})
    wait_for(lambda: one.left() == [], 20, why="nothing is left")


@NEWEST
def test_auto_records_where_the_tables_cannot_be_read(profiler, java, work, vms):
    one = Vm(unreadable(java, work / "home"), work)
    other = Vm(java, work)
    vms += [one, other]
    try:
        profile(profiler, one, other, java_source="auto")
        wait_source(profiler, one, reason=UNREADABLE)
        wait_source(profiler, other, source="native", reason="read without an agent")
        period = Period(profiler)
        period.end(one, other, probes=("oncpu",))
        burn(one, other)
        found = period.end(one, other, probes=("oncpu",))["oncpu"]
        assert share_recorded(found.of(one.pid)) == 1
        assert share_recorded(found.of(other.pid)) < 0.1
        profiler.put_ok({"params": {"multi_instance": 0}})
        wait_source(profiler, one, source="agent", reason=UNREADABLE)
    finally:
        one.kill()
        other.kill()


@NEWEST
def test_many_at_once(profiler, java, vm):
    """Each has its own stacks or the kernel's, whatever the time they take."""
    small = ("-Xmx16m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    many = [vm(*small) for _ in range(10)]
    profile(profiler, *many)
    wait_for(lambda: jfr_of(profiler)["starting"] == 0 and jfr_of(profiler)["recording"] > 5, 60, every=1)
    period = Period(profiler)
    period.end(*many, probes=("oncpu",))
    before = jfr_of(profiler)
    burn(*many)
    found = period.end(*many, probes=("oncpu",))["oncpu"]
    told = jfr_of(profiler)
    shares = [share_recorded(found.of(one.pid)) for one in many]
    recorded = [share for share in shares if share == 1]
    assert all(share == 1 or share < 0.1 for share in shares), shares
    assert len(recorded) == told["windows"] - before["windows"] > 0, (before, told)
    profiler.put_ok({"state": "stopped"})
    wait_for(lambda: not any(one.left() for one in many), 40, why="nothing is left")


@NEWEST
def test_a_daemon_that_ends_leaves_nothing(profiler, java, vm):
    one = vm()
    profile(profiler, one)
    wait_source(profiler, one)
    profiler.stop()
    wait_for(lambda: one.left() == [], 20, why="nothing is left")


@NEWEST
def test_a_vm_without_jfr_goes_on_natively(profiler, java, vm):
    one = vm("-XX:-FlightRecorder")
    profile(profiler, one)
    wait_source(profiler, one, source="native", reason="JFR: turned off in this VM")
    period = Period(profiler)
    period.end(one, probes=("oncpu",))
    burn(one)
    found = period.end(one, probes=("oncpu",))["oncpu"]
    assert share_recorded(found.of(one.pid)) < 0.1
    told = jfr_of(profiler)
    assert (told["recording"], told["failed"], told["windows"]) == (0, 1, 0)
    assert one.left() == []
