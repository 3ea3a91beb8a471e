"""/proc's probes that programs of ours count: the page cache, exact to the page; softirqs, beside the kernel's own numbers."""
import os
import re
import socket
import subprocess
import threading
from collections import Counter
from pathlib import Path

import pytest

from accounts import costs, row_of, states, watch
from helpers import wait_for
from kernel_trace import KernelTrace, guarded

PAGE = os.sysconf("SC_PAGE_SIZE")
PAGES = 10_000
GROUP_PAGES = 8192
EVICTED = 100  # pages of a file that the host of this machine may take out of the page cache meanwhile


@pytest.fixture
def file_of(work):
    def make(pages, name="data"):
        path = work / name
        path.write_bytes(os.urandom(PAGE) * pages)
        with path.open("rb") as file:
            os.fsync(file.fileno())
        return path

    return make


def make_cold(path):
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_all(path, bytes_at_once):
    with path.open("rb", buffering=0) as file:
        while file.read(bytes_at_once):
            pass


@pytest.fixture
def pages(profiler, file_of):
    """Pages that this process has found, added and made dirty since it asked last."""
    small = file_of(1, "small")
    before = {}

    def since():
        read_all(small, PAGE)  # so that the last batch of what was read before is over
        read_all(small, PAGE)
        row = row_of(profiler, "proc_pagecache", os.getpid()) or {}
        found = {name: row.get(name, 0) - before.get(name, 0) for name in ("page_hits", "pages_added", "pages_dirtied")}
        before.update(row)
        return found

    watch(profiler, probes=["proc_pagecache"])
    if "absent" in costs(profiler, "proc_pagecache"):
        pytest.skip("this kernel has no mm_filemap_get_pages")
    since()
    return since


@pytest.mark.quick
@pytest.mark.parametrize("bytes_at_once", [PAGE, 17 * PAGE, 1 << 20, PAGES * PAGE])
def test_a_cold_read_adds_and_a_second_one_hits(pages, file_of, bytes_at_once):
    path = file_of(PAGES)
    make_cold(path)
    pages()
    read_all(path, bytes_at_once)
    cold = pages()
    read_all(path, bytes_at_once)
    warm = pages()
    assert PAGES <= cold["pages_added"] <= PAGES + EVICTED
    if bytes_at_once == PAGES * PAGE:
        assert cold["page_hits"] <= 8, "what is read ahead for a read is no hit of it"
    assert PAGES - EVICTED <= warm["page_hits"] <= PAGES + 8 and warm["pages_added"] <= EVICTED
    assert PAGES <= warm["page_hits"] + warm["pages_added"] <= PAGES + EVICTED


def test_reads_behind_the_end_of_a_file_hit_nothing(pages, file_of):
    path = file_of(10)
    read_all(path, 1 << 20)
    pages()
    for _ in range(100):
        read_all(path, 100 * PAGE)  # ten pages, and one read at the end
    assert 1000 <= pages()["page_hits"] <= 1010


def test_pages_that_are_read_twice_hit_twice(pages, file_of):
    path = file_of(64)
    read_all(path, 1 << 20)
    pages()
    with path.open("rb", buffering=0) as file:
        for _ in range(500):
            os.pread(file.fileno(), 3 * PAGE, 7 * PAGE)
            os.pread(file.fileno(), 100, 20 * PAGE)
    assert 2000 <= pages()["page_hits"] <= 2010


def test_writes_make_pages_dirty(pages, work):
    pages()
    with (work / "new").open("wb", buffering=0) as file:
        for _ in range(200):
            file.write(bytes(10 * PAGE))
        found = pages()
        assert 2000 <= found["pages_dirtied"] <= 2050  # a few are the file system's own
        assert 2000 <= found["pages_added"] <= 2050
        os.pwrite(file.fileno(), b"x", 0)  # it is dirty already
        assert pages()["pages_dirtied"] <= 2


@pytest.fixture
def memory_group():
    """A memory cgroup of 32 MiB: a folder."""
    v1 = Path("/sys/fs/cgroup/memory")
    group = (v1 if v1.is_dir() else Path("/sys/fs/cgroup")) / f"stackprobe-test-{os.getpid()}"
    group.mkdir()
    limit = group / ("memory.limit_in_bytes" if v1.is_dir() else "memory.max")
    if not limit.exists():
        group.rmdir()
        pytest.skip("no memory controller here")
    limit.write_text(str(GROUP_PAGES * PAGE))
    yield group
    wait_for(lambda: not (group / "cgroup.procs").read_text(), why="it is empty")
    group.rmdir()


def test_pages_that_reclaim_takes_are_of_their_memory_cgroup(profiler, pages, file_of, memory_group):
    """A reader of four times as much as its cgroup may have: all that it added (what was evicted too soon, twice) and that
    isn't there any more."""
    big = file_of(4 * GROUP_PAGES, "big")
    make_cold(big)
    script = f"echo 0 >{memory_group}/cgroup.procs; cat {big} >/dev/null; echo; read line"
    with subprocess.Popen(["/bin/sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        reader.stdout.readline()

        def of_the_reader():
            answer = costs(profiler, "proc_pagecache")
            rows = [row for row in answer["rows"] if row.get("comm") == "cat" and row["pages_added"] >= 4 * GROUP_PAGES]
            return rows and (rows[0], [one for one in answer["evictions"] if one["id"] == memory_group.stat().st_ino])

        row, (mine,) = wait_for(of_the_reader, why="it has ended")
        stat = dict(line.split() for line in (memory_group / "memory.stat").read_text().splitlines())
        reader.stdin.close()
    resident = int(stat.get("cache", stat.get("file"))) // PAGE
    assert resident <= GROUP_PAGES
    assert abs(mine["pages"] - (row["pages_added"] - resident)) <= GROUP_PAGES // 20 + EVICTED


def test_a_thread_that_ends_leaves_nothing_out(profiler, pages, file_of):
    path = file_of(50)
    read_all(path, 1 << 20)
    pages()
    for _ in range(20):
        thread = threading.Thread(target=read_all, args=(path, 1 << 20))
        thread.start()
        thread.join()
    wait_for(lambda: len(os.listdir("/proc/self/task")) <= threading.active_count() + 1, why="they have ended")
    assert 1000 <= pages()["page_hits"] <= 1010


# Softirqs

VECTORS = ("hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu")


RAISED = re.compile(r"-(?P<pid>\d+) +\[.*: softirq_entry: vec=(?P<vector>\d+) ")


@pytest.fixture
def softirqs(work):
    with KernelTrace(work, ["irq/softirq_entry"]) as trace:
        yield trace


def is_nearly(of_processes, of_cpus, slack=20):
    """The CPUs are read a bit later; and a process that is younger than the reading has no row yet."""
    return 0.97 * of_cpus - slack <= of_processes <= 1.01 * of_cpus + slack


def kernels():
    """What the kernel has counted, by vector."""
    lines = Path("/proc/softirqs").read_text().splitlines()[1:]
    return dict(zip(VECTORS, (sum(map(int, line.split(":")[1].split())) for line in lines)))


@pytest.mark.quick
def test_softirqs_are_those_that_the_kernel_counts(profiler, softirqs):
    """But for those on top of a process that the kernel guards: it runs no BPF program there (kernel_trace.py)."""
    watch(profiler, probes=["proc_softirq"])

    def look():
        before = kernels()
        found = costs(profiler, "proc_softirq")
        return before, found, kernels()

    early, first, later = look()
    with socket.socket(type=socket.SOCK_DGRAM) as one, socket.socket(type=socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        for _ in range(3000):
            one.sendto(b"x", other.getsockname())
            other.recv(10)
    last_early, last, last_later = look()
    unseen = Counter(int(one["vector"]) for one in guarded(RAISED.finditer(softirqs.text())))
    for vector in VECTORS:
        counted = sum(cpu[vector] for cpu in last["cpus"]) - sum(cpu[vector] for cpu in first["cpus"])
        least, most = last_early[vector] - later[vector], last_later[vector] - early[vector]
        assert least - unseen[VECTORS.index(vector)] - 4 <= counted <= most + 4, vector  # one a CPU may be under way
        assert is_nearly(last["all"][vector] + last["idle"][vector], sum(cpu[vector] for cpu in last["cpus"])), vector
    mine = [row for row in last["rows"] if row.get("pid") == os.getpid()]
    assert mine and mine[0]["net_rx"] >= 2000 and mine[0]["softirqs"] == sum(mine[0][vector] for vector in VECTORS)
    spent = last["all"]["softirq_ns"] + last["idle"]["softirq_ns"]
    assert 0 < spent <= (last["until"] - last["from"]) * 1e9 * os.cpu_count()
    assert is_nearly(spent, sum(cpu[vector + "_ns"] for cpu in last["cpus"] for vector in VECTORS), 1e7)


# Wake-ups


class PingPong:
    """A child that answers each byte. Both have one CPU, by turns: so each write wakes a reader that sleeps."""

    def __init__(self):
        self.cpus, cpu = os.sched_getaffinity(0), min(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cpu})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        there_in, self.out = os.pipe()
        self.back, there_out = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            while os.read(there_in, 1) == b"x":
                os.write(there_out, b"x")
            os._exit(0)
        self.rounds(10)

    def rounds(self, count):
        for _ in range(count):
            os.write(self.out, b"x")
            os.read(self.back, 1)

    def end(self):
        os.write(self.out, b".")
        os.waitpid(self.pid, 0)
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setaffinity(0, self.cpus)


@pytest.fixture
def ping_pong():
    child = PingPong()
    yield child
    child.end()


@pytest.mark.quick
def test_two_processes_that_wake_each_other_are_a_pair(profiler, ping_pong):
    watch(profiler, probes=["proc_wakeup"])
    rounds, me = 2000, os.getpid()
    ping_pong.rounds(rounds)
    found = costs(profiler, "proc_wakeup")
    pairs = {(pair["waker"]["pid"], pair["woken"]["pid"]): pair for pair in found["pairs"]}
    assert pairs[me, ping_pong.pid]["count"] == pairs[ping_pong.pid, me]["count"] == rounds
    (row,) = [row for row in found["rows"] if row.get("pid") == ping_pong.pid]
    assert row["woken"] >= rounds and row["wakes"] >= rounds
    name = pairs[me, ping_pong.pid]["waker"]["comm"]
    assert name == Path("/proc/self/comm").read_text().strip()
    counted = [pair["count"] for pair in found["pairs"]]
    assert counted == sorted(counted, reverse=True) and len(counted) <= 20
    text = profiler.get("/proc/proc_wakeup.txt").text
    assert "who wakes whom" in text and f"{me} {name} -> {ping_pong.pid} " in text
    ping_pong.rounds(100)
    later = [pair["count"] for pair in costs(profiler, "proc_wakeup")["pairs"]
             if (pair["waker"]["pid"], pair["woken"]["pid"]) == (ping_pong.pid, me)]  # fmt: skip
    assert later == [rounds + 100]


def test_what_is_counted_follows_the_configuration(profiler):
    watch(profiler, probes=["proc_cpu"])
    assert "softirqs" not in costs(profiler, "all")["all"]
    assert costs(profiler, "proc_softirq", seconds=1)["all"]["softirqs"] > 0
    watch(profiler, probes=["proc_cpu", "proc_softirq"])
    found = costs(profiler, "proc_softirq")
    assert found["from"] > costs(profiler, "proc_cpu")["from"]
    assert costs(profiler, "all")["all"]["softirqs"] >= found["all"]["softirqs"]
    lines = [line for line in profiler.get("/metrics").text.splitlines() if line.startswith("stackprobe_node_softirqs_total")]
    assert len(lines) == len(VECTORS)
    watch(profiler, probes=["proc_cpu"])
    assert states(profiler) == {"proc_cpu": "running"}
    assert "softirqs" not in costs(profiler, "all")["all"]
