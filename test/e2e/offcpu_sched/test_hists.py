"""The scheduler's histograms as the tracer has them, against the kernel's figures and programs' own."""
import contextlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import oracle
from helpers import BIN, wait_for

HISTS = BIN.parent / "test/sched/hists"
NONE, PID, TID, PIDNS, CGROUP, CPU = range(6)
CPU_USED = max(os.sched_getaffinity(0))

# Says when it is there, begins when told to, says what it and the kernel saw, stays till it is told.
FRAME = """
import json, os, resource, sys, time
def own():
    switches = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    return [*(int(word) for word in open('/proc/self/schedstat').read().split()), switches]
print(os.getpid(), flush=True)
sys.stdin.readline()
before = own()
%s
ran, waited, arrivals, slept = (now - then for now, then in zip(own(), before))
print(json.dumps({"ran": ran, "waited": waited, "arrivals": arrivals, "slept": slept,
                  "own": result}), flush=True)
sys.stdin.readline()
"""
SPIN = FRAME % """
end, result = time.monotonic() + %g, 0
while time.monotonic() < end:
    pass
"""
NAP = FRAME % """
result = 0
for _ in range(%d):
    began = time.monotonic_ns()
    time.sleep(%g)
    result += time.monotonic_ns() - began
"""
TURNS = FRAME % """
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(%d))
for _ in range(%d):
    end, result = time.monotonic() + %g, 0
    while time.monotonic() < end:
        pass
    time.sleep(%g)
os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
"""


class Child:
    """A Python program of the above; `into` is what runs it."""

    def __init__(self, source, cpu=None, into=(), **options):
        self.popen = subprocess.Popen([*into, sys.executable, "-c", source], text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
        self.own_pid = int(self.popen.stdout.readline())  # in its namespace
        self.pid = self.popen.pid
        if cpu is not None:
            os.sched_setaffinity(self.pid, {cpu})

    def tell(self):
        self.popen.stdin.write("\n")
        self.popen.stdin.flush()

    def result(self):
        """What it tells. It is off its CPU again then: its last slice is counted."""
        told = json.loads(self.popen.stdout.readline())
        wait_for(lambda: oracle.states(self.pid) <= {"S", "Z"}, why="it waits")
        return told


class Hists:
    def __init__(self, group_by, slow_us, tgids):
        self.popen = subprocess.Popen([HISTS, str(group_by), str(slow_us), *map(str, tgids)],
                                      text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.popen.stdout.readline() == "ready\n"

    def ask(self, command):
        self.popen.stdin.write(command + "\n")
        self.popen.stdin.flush()
        return self.popen.stdout.readline()

    def read(self):
        return json.loads(self.ask("read"))

    def links(self):
        """Ids of its links to the scheduler's tracepoints, by the tracepoint."""
        ids = {}
        for info in Path(f"/proc/{self.popen.pid}/fdinfo").iterdir():
            text = info.read_text()
            name = re.search(r"^tp_name:\s*(sched_(switch|wakeup|wakeup_new))$", text,
                             re.MULTILINE)
            if name:
                ids[name[1]] = int(re.search(r"^link_id:\s*(\d+)", text, re.MULTILINE)[1])
        return ids


@pytest.fixture
def started(needs_bpf):
    """Programs, ended with the test."""
    with contextlib.ExitStack() as stack:

        def start(kind, *args, **options):
            new = kind(*args, **options)
            stack.callback(new.popen.wait)
            stack.callback(new.popen.stdout.close)
            stack.callback(new.popen.stdin.close)
            return new

        yield start


def row(rows, group):
    found = [row for row in rows if row["group"] == group]
    assert len(found) == 1, f"{group} among {[row['group'] for row in rows]}"
    return found[0]


def near(value, truth, within, more=0):
    assert abs(value - truth) <= truth * within + more, f"{value} is not {truth}"


def test_waits_and_slices_are_those_that_the_kernel_counts(started):
    spinners = [started(Child, SPIN % 3, CPU_USED) for _ in range(2)]
    hists = started(Hists, PID, 1000000, [spinner.pid for spinner in spinners])
    stolen = oracle.stolen_ns()
    for spinner in spinners:
        spinner.tell()
    truths = [spinner.result() for spinner in spinners]
    seen = hists.read()
    stolen = oracle.stolen_ns() - stolen
    assert len(seen["runqlat"]) == 2, "others' waits are counted"
    for spinner, truth in zip(spinners, truths):
        runqlat = row(seen["runqlat"], spinner.pid)
        near(runqlat["ns"], truth["waited"], 0.02, 5e6 + stolen)
        near(sum(runqlat["slots"]), truth["arrivals"], 0.02, 5)
        near(row(seen["cpudist"], spinner.pid)["ns"], truth["ran"], 0.02, 10e6 + stolen)
        assert runqlat["comm"] == Path(f"/proc/{spinner.pid}/comm").read_text().strip()


def test_an_absence_is_a_sleep_and_its_time_the_sleepers_own(started):
    napper = started(Child, NAP % (200, 0.005))
    hists = started(Hists, PID, 1000000, [napper.pid])
    napper.tell()
    truth = napper.result()
    seen = row(hists.read()["offcpudist"], napper.pid)
    # (Of 200: whoever is preempted on its way to sleep may be woken before it does. And of a switch
    # in some hundred the tracepoint isn't hit, for a program that does nothing but count as well.)
    assert truth["slept"] - 4 <= sum(seen["slots"]) <= truth["slept"]
    assert sum(seen["slots"][:13]) <= 3, "a sleep of 5 ms is shorter than 4"
    near(seen["ns"], truth["own"], 0.03, truth["waited"])  # woken, it may wait for its CPU


def test_a_task_that_would_go_on_is_not_absent(started):
    spinner, rival = (started(Child, SPIN % seconds, CPU_USED) for seconds in (1, 600))
    hists = started(Hists, PID, 1000000, [spinner.pid])
    rival.tell()
    spinner.tell()
    truth = spinner.result()
    seen = hists.read()
    rival.popen.kill()
    assert truth["waited"] > 100e6
    absences = [row["ns"] for row in seen["offcpudist"] if row["group"] == spinner.pid]
    assert sum(absences) < truth["waited"] / 2


def test_groups_are_the_tasks_own(started, work):
    unshared = started(Child, NAP % (50, 0.002), into=("unshare", "--pid", "--fork"))
    assert unshared.own_pid == 1
    pid = int(Path(f"/proc/{unshared.pid}/task/{unshared.pid}/children").read_text())
    hists = started(Hists, PIDNS, 1000000, [pid])
    groups = {
        PID: pid,
        TID: pid,
        PIDNS: os.stat(f"/proc/{pid}/ns/pid").st_ino,
        CGROUP: cgroup_of(pid),
    }
    for probe, group_by in (("runqlat", PID), ("cpudist", CGROUP), ("offcpudist", PIDNS)):
        hists.ask(f"by {probe} {group_by}")
    unshared.tell()
    unshared.result()
    seen = hists.read()
    assert [row["group"] for row in seen["runqlat"]] == [groups[PID]]
    assert [row["group"] for row in seen["offcpudist"]] == [groups[PIDNS]]
    assert [row["group"] for row in seen["cpudist"]] == [groups[CGROUP]]
    unshared.tell()


def cgroup_of(pid):
    found = re.search(r"^0::(.*)$", Path(f"/proc/{pid}/cgroup").read_text(), re.MULTILINE)
    for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        if found and Path(root, "cgroup.controllers").exists():
            return os.stat(root + found[1]).st_ino
    pytest.skip("no cgroup v2 hierarchy is mounted")


def test_each_cpus_waits_are_apart_and_their_sum_is_the_whole(started):
    spinner = started(Child, SPIN % 0.5, CPU_USED)
    hists = started(Hists, CPU, 1000000, [spinner.pid])
    spinner.tell()
    spinner.result()
    seen = hists.read()
    assert [row["group"] for row in seen["cpudist"]] == [CPU_USED]
    assert [row["group"] for row in seen["runqlat"]] == [CPU_USED]


def test_what_is_turned_on_or_regrouped_leaves_the_rest_as_it_is(started):
    napper = started(Child, NAP % (100, 0.005))
    hists = started(Hists, PID, 1000000, [napper.pid])
    napper.tell()
    napper.result()
    links, before = hists.links(), hists.read()
    assert links.keys() == {"sched_switch", "sched_wakeup", "sched_wakeup_new"}
    hists.ask(f"by offcpudist {TID}")
    after = hists.read()
    assert not after["offcpudist"], "it begins at zero"
    assert sum(row(after["runqlat"], napper.pid)["slots"]) >= \
        sum(row(before["runqlat"], napper.pid)["slots"]) >= 100
    assert hists.links() == links
    hists.ask("only cpudist")
    assert row(hists.read()["cpudist"], napper.pid)["ns"] >= \
        row(before["cpudist"], napper.pid)["ns"]
    assert hists.links() == {"sched_switch": links["sched_switch"]}, "nothing needs wake-ups"
    hists.ask("only cpudist runqlat")
    assert not hists.read()["runqlat"]
    assert hists.links().keys() == links.keys()
    assert hists.links()["sched_switch"] == links["sched_switch"]
    hists.ask("only")
    assert not hists.links()


def test_who_had_the_cpu_is_told_of_a_wait_above_the_threshold(started):
    """Real-time tasks: nobody else comes between."""
    victim = started(Child, TURNS % (1, 55, 0.02, 0.02), CPU_USED)
    hog = started(Child, TURNS % (2, 10, 0.1, 0.1), CPU_USED)
    hists = started(Hists, NONE, 40000, [victim.pid])
    victim.tell()
    hog.tell()
    victim.result()
    hog.result()

    def all_told():  # those that wake nobody are read soon after
        seen = hists.read()
        told = len(seen["runqslower"]) + seen["slow_lost"]
        return told == seen["slow_waits"] and seen["runqslower"]

    events = wait_for(all_told)
    assert len(events) >= 5
    for event in events:
        assert event["us"] > 40000
        assert (event["tid"], event["cpu"]) == (victim.pid, CPU_USED)
        assert event["most_us"] <= event["us"]
    theirs = [event for event in events if event["most_tid"] == hog.pid]
    assert len(theirs) >= 0.8 * len(events)
    assert sum(event["before_tid"] == hog.pid for event in theirs) >= 0.8 * len(theirs)
    near(sum(event["most_us"] for event in theirs), sum(event["us"] for event in theirs), 0.05)


def test_run_queue_lengths_are_the_cpus_whatever_groups_its_tasks_are_in(started, observe):
    hogs = [started(Child, SPIN % 60, CPU_USED, start_new_session=True) for _ in range(3)]
    for hog in hogs:
        hog.tell()
    time.sleep(0.5)
    hists = started(Hists, NONE, 1000000, [])
    observer = observe(99)

    def looked():
        """The lengths, and each CPU's ticks before and after them: much lies between, where others have the CPU."""
        early = {cpu: observer.ticks(cpu) for cpu in observer.clocks}
        return hists.read(), early, {cpu: observer.ticks(cpu) for cpu in observer.clocks}

    before, first_early, first_late = looked()
    time.sleep(2)
    after, last_early, last_late = looked()
    for hog in hogs:
        hog.popen.kill()
    for cpu in (CPU_USED, min(os.sched_getaffinity(0))):
        slots = [then - now for then, now in zip(lengths(after, cpu), lengths(before, cpu))]
        least, most = last_early[cpu] - first_late[cpu], last_late[cpu] - first_early[cpu]
        assert 0.98 * least - 3 <= sum(slots) <= 1.02 * most + 3
        assert sum(slots) >= 99, "nearly 198, where the host takes nothing away"
        if cpu == CPU_USED:
            assert sum(slots[2:]) >= 0.95 * sum(slots), "three are there, one of them runs"


def lengths(seen, cpu):
    return [row["slots"] for row in seen["runqlen"] if row["cpu"] == cpu][0]
