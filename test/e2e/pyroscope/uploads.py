"""A daemon that uploads its profiles, and what arrived of them beside its own files.

The shape of GET's "upload" is known in Uploader.upload() only.
"""
import json
import os
import time
from collections import Counter
from pathlib import Path

import pprof
from folded import Profile
from helpers import HZ, Daemon, wait_for
from pprof_folded import plain, without_inlined
from pyroscope_stored import samples

PERIOD = 5  # seconds of a window: the shortest
PROBES = ("oncpu", "offcpu", "mem", "mem_glibc")
CPU_NS = 10**9 // HZ  # of a sample

# What the files of a probe count, as a type of the server's, and how many of its units that is.
TYPES = {
    "oncpu": ("process_cpu:samples:count:cpu:nanoseconds", 1),
    "offcpu": ("off_cpu:off_cpu:nanoseconds::", 1000),
    "mem": ("memory:alloc_space:bytes:space:bytes", 1),
    "mem_glibc": ("memory:alloc_space:bytes:space:bytes", 1),
}

# Burns, waits, grows and allocates.
BUSY = """
import mmap, time
def burn(): sum(range(20000))
def wait(): time.sleep(0.001)
def hold(): return b"x" * 300000
def grow():
    with mmap.mmap(-1, 1 << 20) as memory: memory.write(bytes(1 << 20))
while True: burn(), wait(), hold(), grow()
"""


class Uploader(Daemon):
    """Its conf file has a section `upload`."""

    def __init__(self, work, restore=False, bpf="", **options):
        super().__init__(work)
        self.spool = work / "spool"
        text = self.conf.read_text().replace("restore = false;", f"restore = {str(restore).lower()};")
        self.base = f"{text}bpf = {{ {bpf} }};\n"
        self.set_upload(**options)

    def set_upload(self, **options):
        """What the next start, or SIGHUP, reads."""
        options = {"period": PERIOD, "spool_dir": str(self.spool), **options}
        lines = "".join(f"{key} = {libconfig(value)}; " for key, value in options.items())
        self.conf.write_text(f"{self.base}upload = {{ {lines}}};\n")

    def send(self, server, *entries, probes=("oncpu",), **params):
        """Profiles them for that server: a Pyroscope, or what a PUT names."""
        name = server if isinstance(server, str) else server.url
        self.profile(*entries, probes=probes, **{"svg_period": 600, "frequency": HZ, "max_overhead": 0,
                                                 "minblock": 0, "pyroscope_server": name, **params})  # fmt: skip

    def upload(self, key=None):
        status = self.config()["status"]["upload"]
        return status[key] if key else status

    def lost(self):
        """What isn't sent and never will be, by cause, of which there are any."""
        return {cause: count for cause, count in self.upload("lost").items() if count}

    def end(self, server, probes=("oncpu",), seconds=60):
        """Stops profiling. All windows have arrived then."""
        at = time.time_ns()
        self.put_ok({"state": "stopped"})
        wait_for(lambda: min(until(server, probe) for probe in probes) >= at, seconds,
                 why=lambda: f"the last windows: {self.upload()}, {server.refused}")  # fmt: skip
        self.wait_sent(seconds)

    def wait_sent(self, seconds=60):
        wait_for(lambda: self.upload("waiting") == 0, seconds, why="nothing waits")

    def waiting(self):
        """{file: its window's end in ns} of the spool: what the server doesn't have as far as is known."""
        names = [path.name for path in self.spool.iterdir()] if self.spool.exists() else []
        return {name: int(name.split("-")[0]) for name in names if name.endswith((".body", ".sent", ".again"))}

    def stacks(self, probe, placed=False):
        """{frames: value} of all its folded files, frames as pprof has them. `placed`: keys begin with pod and
        container, or None."""
        found = Counter()
        for path in self.files(self.flame_dir / probe, "folded"):
            for stack in Profile(path.read_text()).stacks:
                place = (stack.pod, stack.container) if placed else ()
                found[*place, stack.frames[0], *map(plain, stack.frames[1:])] += stack.value
        return found

    def wait_stacks(self, probe, pids):
        """The same when the files of these processes are there."""

        def found():
            stacks = self.stacks(probe)
            return pids <= {pid_of(frames) for frames in stacks} and (stacks,)

        return wait_for(found, 60, every=0.2, why=f"files of {probe}")[0]

    def descriptors(self):
        """How many there are of those kinds that sending needs."""
        kinds = Counter()
        for fd in Path(f"/proc/{self.pid}/fd").iterdir():
            try:
                link = os.readlink(fd)
            except FileNotFoundError:
                continue
            kind = link.split(":")[0] if link.startswith(("socket:", "pipe:")) else link
            if kind in ("socket", "pipe", "anon_inode:[eventfd]", "anon_inode:[timerfd]", "anon_inode:[eventpoll]"):
                kinds[kind] += 1
            elif link.startswith(f"{self.spool}/"):
                kinds["spool"] += 1
        return kinds

    def rss_kb(self):
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])


def libconfig(value):
    if isinstance(value, (list, tuple)):
        return f"( {', '.join(map(libconfig, value))} )"
    return str(value) if isinstance(value, int) else json.dumps(str(value), ensure_ascii=False)


def of_probe(stored, probe):
    return [one for one in stored if one.labels.get("probe") == probe]


def until(server, probe):
    """The end of the last window of that probe, in ns."""
    return max((one.until_ns for one in of_probe(server.stored, probe)), default=0)


def wait_windows(server, count, probes=("oncpu",), seconds=60):
    """Until so many windows of each probe are there from now on."""
    marks = {probe: until(server, probe) for probe in probes}

    def arrived(probe):
        return len({one.until_ns for one in of_probe(server.stored, probe) if one.until_ns > marks[probe]})

    wait_for(lambda: all(arrived(probe) >= count for probe in probes), seconds,
             why=lambda: f"{count} windows: {server.refused} {server.put_off[-3:]}")  # fmt: skip


def once(stored):
    """Without bodies that came again."""
    return list({(one.body, one.from_ns, tuple(sorted(one.labels.items()))): one for one in stored}.values())


def pid_of(frames):
    return int(Profile.PROCESS.fullmatch(frames[0])[1])


def whose(names, labels):
    """(pod, container, [frames]), the process first, be these frames, labels or (/ingest) both."""
    names, place = list(names), {key: labels[key] for key in ("pod", "container") if key in labels}
    for key, prefix in (("pod", "[Pod]"), ("container", "[Con]")):
        if names[0].startswith(prefix):
            name = names.pop(0).removeprefix(prefix)
            assert place.setdefault(key, name) == name, (name, labels)
    if "pid" in labels and not Profile.PROCESS.fullmatch(names[0]):
        names.insert(0, f"[{labels['pid']}]{labels['comm']}".translate(pprof.FOLDED))
    assert Profile.PROCESS.fullmatch(names[0]), names
    return place.get("pod"), place.get("container"), names


def pushed_stacks(stored, probe, placed=False):
    """{frames: value} of what arrived, as folded text has the frames, in its unit; the process first,
    be it a frame or labels. `placed`: keys begin with pod and container, or None."""
    type, unit = TYPES[probe]
    found = Counter()
    for one in of_probe(stored, probe):
        if type not in one.types:
            continue
        for raw, sample in zip(one.profile.samples, one.samples, strict=True):
            names = [name.translate(pprof.FOLDED) for name in without_inlined(one.profile, raw)]
            pod, container, names = whose(names, sample.labels)
            value, rest = divmod(sample.values[type], unit)
            assert not rest, (type, sample.values)
            if value:
                found[*((pod, container) if placed else ()), *names] += value
    return found


def ingested_stacks(stored, type, unit=1):
    """The same of what came to /ingest, with pod and container."""
    found = Counter()
    for sample, value in samples(stored, type):
        pod, container, names = whose(sample.frames, sample.labels)
        found[pod, container, names[0], *map(plain, names[1:])] += value / unit
    return found


def assert_same(pushed, files):
    """Stack for stack."""
    differ = {frames: (pushed[frames], files[frames]) for frames in pushed.keys() | files.keys()
              if pushed[frames] != files[frames]}  # fmt: skip
    assert not differ, (len(differ), pushed.total(), files.total(), list(differ.items())[:3])


def assert_whole(server):
    """All that was sent is as it should be, and no moment is missing."""
    assert server.refused == []
    assert server.gaps() == []
    assert (server.followed, server.broken) == (0, [])


def ends_aligned(windows):
    """Whether one window ends in each period of the wall clock, late perhaps, but the last, which ends with the stop."""
    numbers = [int(end / 1e9 / PERIOD + 0.1) for _, end in windows[:-1]]
    return numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else True


def assert_nothing_lost(daemon, server, pids, probes=("oncpu",)):
    """Each window is there. What is there twice is what the daemon counts."""
    assert (daemon.lost(), server.refused, server.gaps(), server.followed) == ({}, [], [], 0)
    assert len(server.repeated) == daemon.upload("maybe_twice")
    for probe in probes:
        assert_same(pushed_stacks(once(server.stored), probe), daemon.wait_stacks(probe, pids))


def wait_sums(sums, expected):
    """Until what has arrived is all that there is, and then that it is no more."""
    wait_for(lambda: sum(sums().values()) >= sum(expected.values()), 30, why=lambda: f"{sums()} for {expected}")
    assert sums() == expected


def busy(start):
    """A program that all probes see."""
    return start(Path("/usr/bin/python3"), "-c", BUSY)
