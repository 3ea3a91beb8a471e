"""All probes at once on what hosts run: PostgreSQL under pgbench, redis, a Java VM, a Python program that talks and
writes, and counts what it does. TOGETHER_SECONDS says for how long (`make check-together`: 5 minutes)."""
import mmap
import os
import re
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

from helpers import BIN, wait_for
from scene import Scene, children

SECONDS = int(os.environ.get("TOGETHER_SECONDS", "8"))
RSS_MAX = 150 << 20
OVERHEAD = 3  # percent of a CPU: the default of max_overhead
# Until an event of a target is drawn, or isn't, it costs some ns more than one of others, which nothing bounds; and time
# that a host takes from its guest counts for who runs then. Without a guard it was five times OVERHEAD.
UNBOUND = 2
CHUNK, MESSAGE = 4096, 100
# Does so much in each turn, and counts its turns where the test sees them.
TALKS = f"""
import mmap, os, socket, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
turns = memoryview(mmap.mmap(os.open(sys.argv[1] + ".turns", os.O_RDWR), 4096)).cast("Q")
ends = socket.socketpair()
while True:
    os.pwrite(file, bytes({CHUNK}), 0), os.pread(file, {CHUNK}, 0)
    ends[0].send(b"x" * {MESSAGE}), ends[1].recv({MESSAGE})
    sum(range(1000))
    turns[0] += 1
"""
# What the probes see of one turn: (bytes, calls).
TURN = {"io": (2 * CHUNK + 2 * MESSAGE, 4), "net": (2 * MESSAGE, 2)}


def listed():
    told = subprocess.run([BIN, "--describe", "probes"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^\| `(\w+)` \|", told, re.MULTILINE)


def resident(pid):
    return int(re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1]) << 10


def press_postgres(scene, server):
    """Has pgbench work on it until the end: the program, and the pids of its processes."""
    tool = sorted(Path("/usr/lib/postgresql").glob("*/bin/pgbench"))[-1]
    home = scene.work / "postgres"
    who = {"cwd": home, "user": "postgres", "group": "postgres"}
    subprocess.run([tool, "-q", "-i", "-h", home, "postgres"], check=True, stderr=subprocess.DEVNULL, **who)
    before = set(children(server))
    scene.run([tool, "-h", home, "-c", "2", "-T", str(SECONDS + 120), "postgres"], **who)
    wait_for(lambda: len(set(children(server)) - before) >= 2, why="pgbench's two connections")
    return tool.with_name("postgres"), [server, *children(server)]


class Talker:
    """The Python program."""

    def __init__(self, start, path):
        counts = Path(f"{path}.turns")
        counts.write_bytes(bytes(4096))
        with counts.open("rb") as file:
            self.counts = mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ)
        self.target = start("/usr/bin/python3", "-c", TALKS, path)
        self.pid = self.target.pid
        wait_for(lambda: self.turns > 100, why="the program's turns")

    @property
    def turns(self):
        return struct.unpack_from("Q", self.counts)[0]

    def go_on(self):
        os.kill(self.pid, signal.SIGCONT)

    def stop(self):
        """How many turns it has made, of which one is perhaps not whole."""
        os.kill(self.pid, signal.SIGSTOP)
        wait_for(lambda: Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
        return self.turns


@pytest.fixture
def measured():
    """The kernel counts how long BPF programs run."""
    switch = Path("/proc/sys/kernel/bpf_stats_enabled")
    before = switch.read_text()
    switch.write_text("1")
    yield
    switch.write_text(before)


def programs(pid):
    """{id: (ns, runs)} of the BPF programs that a process has."""
    found = {}
    for info in Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            text = info.read_text()
        except OSError:
            continue  # it was closed
        numbers = dict(re.findall(r"^(prog_id|run_time_ns|run_cnt):\s+(\d+)$", text, re.MULTILINE))
        if len(numbers) == 3:
            found[numbers["prog_id"]] = int(numbers["run_time_ns"]), int(numbers["run_cnt"])
    return found


class Used:
    """Time in a daemon's BPF programs: of a span in which nobody is a target, and of one with targets."""

    def __init__(self, pid):
        self.pid, self.looks = pid, {}

    def span(self, seconds, meanwhile=lambda: None):
        """{id: (ns, runs)} of so many seconds, and how many they were."""
        before, began = programs(self.pid), time.monotonic()
        while time.monotonic() < began + seconds:
            meanwhile()
            time.sleep(0.5)
        now, took = programs(self.pid), time.monotonic() - began
        return {one: tuple(b - a for a, b in zip(before.get(one, (0, 0)), now[one])) for one in now}, took

    def look(self, seconds):
        """What a run costs that finds no target, the statistics' own share with it: max_overhead doesn't bound that."""
        used, _ = self.span(seconds)
        self.looks = {one: ns / runs for one, (ns, runs) in used.items() if runs}

    def share(self, used, took):
        """(percent of a CPU, percent beyond looks)"""
        beyond = sum(ns - runs * self.looks.get(one, 0) for one, (ns, runs) in used.items())
        return 100 * sum(ns for ns, _ in used.values()) / 1e9 / took, 100 * beyond / 1e9 / took


def assert_counted(profiler, talker, turns, probes):
    """What the program did is in the profile, or counted as lost; within chance, for stacks are thinned."""
    for name, of_turn in TURN.items():
        lost = sum(probes[name]["lost"].values())
        for query, each in zip(({}, {"value": "count"}), of_turn):
            seen, did = profiler.folded(name, pid=talker.pid, **query).total(), turns * each
            missing = lost * each / of_turn[1]  # (an event's mean)
            assert seen <= 1.05 * did and seen + missing >= 0.95 * did, (name, query, seen, did, lost)


@pytest.mark.alone("its programs take both CPUs")
def test_all_probes_at_once(profiler, start, work, measured):
    signal.alarm(int(1.1 * SECONDS) + 120)  # the limit of conftest.py is for shorter ones
    scene = Scene(work)
    scene.work.chmod(0o755)
    try:
        pids = {name: getattr(scene, f"start_{name}")(1) for name in ("postgres", "redis_server", "java")}
        events = {"forks": "t:sched:sched_process_fork"}
        if pids["postgres"]:
            server, pids["postgres"] = press_postgres(scene, pids["postgres"][0])
            events["queries"] = f"u:{server}:PortalRun"
        talker, sleeper = Talker(start, work / "talks"), start("/usr/bin/sleep", "1000")
        names = [*listed(), *(f"event:{name}" for name in events)]

        def run(wanted):
            profiler.put_ok(profiler.wanting(pids=wanted, probes=names, events=events, io_time=1, net_wait=1,
                                             svg_period=600))  # fmt: skip
            for name in names:
                wait_for(lambda name=name: profiler.probe(name)["state"] in ("running", "unsupported"), why=name)

        run([sleeper.pid])
        used, most = Used(profiler.pid), [0]
        used.look(max(4, SECONDS / 10))
        turns = talker.stop()
        run([pid for some in pids.values() for pid in some] + [talker.pid])
        talker.go_on()
        share, held = used.share(*used.span(SECONDS, lambda: most.append(resident(profiler.pid))))
        turns = talker.stop() - turns
        probes = profiler.config()["status"]["probes"]
        print({"rss MiB": max(most) >> 20, "BPF % of a CPU": round(share, 2), "% beyond looks": round(held, 2),
               "turns": turns})  # fmt: skip
        print({name: (probe["samples"], probe["thinned"], {k: v for k, v in probe["lost"].items() if v},
                      {k: v for k, v in probe["truncated"].items() if v}) for name, probe in probes.items()})
        for name, probe in probes.items():
            assert probe["state"] == "running" or (name == "llc" and "PMU" in probe["reason"]), (name, probe)
        assert max(most) < RSS_MAX, f"{max(most) >> 20} MiB"
        assert 0 < held < UNBOUND * OVERHEAD, f"{held} % of a CPU"
        for name, probe in probes.items():
            taken, lost = probe["samples"] * probe["thinned"], sum(probe["lost"].values())
            assert lost <= 0.01 * (taken + lost), (name, probe["lost"])
        for name in ("oncpu", "offcpu", "mem", "io", "net", *(f"event:{name}" for name in events if name == "queries")):
            # (few pages are new to them)
            assert probes[name]["samples"] > (10 if name == "mem" else 100), (name, probes[name])
        assert_counted(profiler, talker, turns, probes)
        wait_for(lambda: profiler.folded("oncpu", pid=talker.pid).total(), why="oncpu of python")
        profiler.put_ok({"state": "stopped"})
    finally:
        scene.stop()
