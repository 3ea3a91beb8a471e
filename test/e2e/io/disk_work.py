"""Programs that use a disk in known ways, and what the kernel and the probe blkio count of it."""
import os
import re
import shutil
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from helpers import lost, wait_for
from kernel_trace import KernelTrace, guarded, is_guarded

SECTOR = 512  # of /proc/diskstats, whatever the disk's own
PIECE = 1 << 20
DISK_BYTES = 64 * PIECE

DOES = f"""
import fcntl, mmap, os, signal, struct, sys, threading
disk, piece = sys.argv[1], mmap.mmap(-1, {4 * PIECE})
piece.write(b"x" * len(piece))
def direct(flags): return os.open(disk, flags | os.O_DIRECT)
def warms():
    os.preadv(os.open(sys.executable, os.O_RDONLY | os.O_DIRECT), [memoryview(piece)[:4096]], 0)
def reads():
    file = direct(os.O_RDONLY)
    for i in range(8): os.preadv(file, [piece], i * len(piece))
    for i in range(50): os.preadv(file, [memoryview(piece)[:4096]], i * 8192)
def writes():
    file = direct(os.O_WRONLY)
    for i in range(8): os.pwritev(file, [piece], i * len(piece))
    for i in range(50): os.pwritev(file, [memoryview(piece)[:4096]], i * 8192)
def discards():
    fcntl.ioctl(os.open(disk, os.O_WRONLY), 0x1277, struct.pack("QQ", 0, {8 * PIECE}))
def flushes():
    file = direct(os.O_WRONLY)
    for i in range(5): os.pwritev(file, [memoryview(piece)[:4096]], 0), os.fsync(file)
def buffered():
    file = os.open(disk, os.O_WRONLY)
    for i in range(4): os.pwritev(file, [piece], i * len(piece))
def little():
    os.pwrite(os.open(disk, os.O_WRONLY), memoryview(piece)[:262144], 0)
def maps():
    with mmap.mmap(os.open(disk, os.O_RDWR), 64 * mmap.PAGESIZE) as memory:
        for at in range(0, len(memory), mmap.PAGESIZE): memory[at] = 1
        memory.flush()
def one(number):
    file, own = os.open(disk, os.O_RDWR), number * {8 * PIECE}
    for i in range(40):
        os.pwrite(file, memoryview(piece)[:12288], own + (i * 7 % 40) * 16384)
        os.pwrite(file, memoryview(piece)[:100], own + {4 * PIECE} + i * 5000)
        os.fdatasync(file) if i % 8 == 0 else None
        os.preadv(direct(os.O_RDONLY), [memoryview(mmap.mmap(-1, 65536))], own + i * 65536)
    os.fdatasync(file)
def mixed():
    threads = [threading.Thread(target=one, args=[i]) for i in range(4)]
    [each.start() for each in threads], [each.join() for each in threads]
def files():
    with open(disk, "wb") as file: file.write(piece)
    os.sync()
signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGUSR1}})
print("ready", flush=True)
def warm():
    while signal.sigtimedwait({{signal.SIGUSR1}}, 0.01) is None: warms()
warm()
for ask in sys.argv[2:]:
    print("warm", flush=True)
    signal.sigwait({{signal.SIGUSR1}})
    globals()[ask]()
    print("did " + ask, flush=True)
signal.sigwait({{signal.SIGUSR1}})
"""


class Stats(NamedTuple):
    """What the kernel counts of a disk."""

    reads: int
    read_bytes: int
    writes: int
    written_bytes: int
    discards: int
    discarded_bytes: int

    @classmethod
    def of(cls, disk):
        for line in Path("/proc/diskstats").read_text().splitlines():
            words = line.split()
            if words[2] == disk:
                counts = [int(words[i]) for i in (3, 5, 7, 9, 14, 16)]
                return cls(*(n * (SECTOR if i % 2 else 1) for i, n in enumerate(counts)))
        raise AssertionError(f"/proc/diskstats has no {disk}")

    def __sub__(self, before):
        return Stats(*(now - then for now, then in zip(self, before)))


@contextmanager
def loop_disk(work):
    """A disk that nobody else uses."""
    if not shutil.which("losetup"):
        pytest.skip("needs losetup")
    image = work / "disk"
    with open(image, "wb") as file:
        file.truncate(DISK_BYTES)
    made = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no loop device: {made.stderr.strip()}")
    try:
        yield Path(made.stdout.strip())
    finally:
        subprocess.run(["losetup", "--detach", made.stdout.strip()], check=True)


@contextmanager
def zram_disk():
    """A disk without requests, that nobody else uses. Whoever has it open has ended before it goes."""
    control = Path("/sys/class/zram-control")
    if os.geteuid() == 0 and not control.exists() and shutil.which("modprobe"):
        subprocess.run(["modprobe", "zram", "num_devices=0"], capture_output=True, check=False)
    if os.geteuid() != 0 or not control.exists():
        pytest.skip("needs root and a kernel with zram: a disk without requests")
    number = (control / "hot_add").read_text().strip()
    disk = Path(f"/dev/zram{number}")

    def is_removed():
        try:
            (control / "hot_remove").write_text(number)
        except OSError:  # udev may look at it still
            return False
        return True

    try:
        Path(f"/sys/block/{disk.name}/disksize").write_text(str(DISK_BYTES))
        wait_for(disk.exists, why=f"{disk}")
        yield disk
    finally:
        wait_for(is_removed, why=f"{disk} to be removed")


class Requests(NamedTuple):
    """What the kernel's tracepoints told of a disk's requests."""

    bytes: int
    completed: int
    ns: int  # from the last issue of each to its completion
    requeued: int
    unseen: int  # bytes more, whose completion no BPF program can have seen (is_guarded())

    @classmethod
    def read(cls, text, way, pid):
        """Of lines of a trace: of requests of that way ("R"), with what this process queued."""
        queued, issued, done, ns, sectors, requeued, unseen = set(), {}, 0, 0, 0, 0, 0
        for found in TRACED.finditer(text):
            at, where, count = round(float(found["at"]) * 1e9), int(found["sector"]), int(found["sectors"])
            if found["what"] == "bio_queue":
                if int(found["pid"]) == pid:
                    queued.update(range(where, where + count))
            elif where not in queued or not found["way"].startswith(way):
                continue
            elif found["what"] == "rq_issue":
                issued[where] = at
            elif found["what"] == "rq_requeue":
                requeued += 1
            elif where in issued and is_guarded(found["pid"]):
                unseen, _ = unseen + count, issued.pop(where)
            elif where in issued:
                done, sectors, ns = done + 1, sectors + count, ns + at - issued.pop(where)
        return cls(sectors * SECTOR, done, ns, requeued, unseen * SECTOR)


class Missed(NamedTuple):
    """Requests that were completed where the kernel runs no BPF program."""

    number: int
    bytes: int


WAYS = {"[read]": "R", "[write]": "F?W", "[discard]": "D", "[flush]": "FF"}  # of the kernel's own trace
TRACED = re.compile(r"-(?P<pid>\d+) +\[.* (?P<at>\d+\.\d+): block_(?P<what>bio_queue|rq_issue|rq_requeue|rq_complete): "
                    r"(?P<disk>\d+,\d+) (?P<way>\w+) .*?(?P<sector>\d+) \+ (?P<sectors>\d+) ")  # fmt: skip


def number_of(disk):
    """(major, minor)"""
    device = os.stat(disk).st_rdev
    return os.major(device), os.minor(device)


class Trace(KernelTrace):
    """The kernel's own trace of one disk's requests."""

    def __init__(self, work, disk):
        major, minor = number_of(disk)
        events = [f"block/block_{event}" for event in ("bio_queue", "rq_issue", "rq_requeue", "rq_complete")]
        super().__init__(work, events, f"dev == {major << 20 | minor}")

    def requests(self, way, pid):
        return Requests.read(self.text(), way, pid)


class Ends(KernelTrace):
    """The kernel's own trace of the completion of all disks' requests."""

    def __init__(self, work, disk):
        super().__init__(work, ["block/block_rq_complete"])
        self.disk = disk

    def guarded(self):
        """Those that no BPF program can have seen: they interrupted a process that the kernel guards."""
        return guarded(TRACED.finditer(self.text()))

    def missed(self, way):
        """Those of the disk, of that way."""
        name = "{},{}".format(*number_of(self.disk))
        sectors = [int(e["sectors"]) for e in self.guarded() if e["disk"] == name and re.match(WAYS[way], e["way"])]
        return Missed(len(sectors), sum(sectors) * SECTOR)


def assert_complete(profiler, ends):
    """Nothing is told as lost, but of requests, of any disk, whose end no program can have seen."""
    state = profiler.probe("blkio")
    assert lost(state) == (state["lost"]["unended"] if ends.guarded() else 0), state


def begin(profiler, start, path, *asks, **params):
    """A target that does that with the disk, or file, each at go(target, ask)."""
    target = start(Path("/usr/bin/python3"), "-c", DOES, path, *asks)
    wait_for(lambda: "ready" in target.log.read_text())
    profiler.profile(pids=[target.pid], probes=("blkio",), frame_detail="name", max_overhead=0, **params)
    wait_for(lambda: profiler.folded("blkio", pid=target.pid).total(python("warms")), why="whole stacks")
    target.popen.send_signal(signal.SIGUSR1)
    wait_for(lambda: "warm" in target.log.read_text())
    return target


def go(target, ask):
    target.popen.send_signal(signal.SIGUSR1)
    wait_for(lambda: f"did {ask}" in target.log.read_text(), why=ask)


def python(function):
    return f"{function} (<string>)_[p]"


def of(profile, function, way, disk):
    """The weight of what a function had done that way."""
    return sum(s.value for s in profile.stacks if s.has(python(function)) and s.frames[-2:] == (way, f"[{disk.name}]"))


def write_back(disk):
    """Has what is dirty of the disk written by this process, which is no target."""
    file = os.open(disk, os.O_WRONLY)
    os.fsync(file)
    os.close(file)
