"""Test programs that know what they allocated (test/programs/heap.h), and what the views of mem_glibc
say of them. The shape of GET's "allocator" is known here only."""
import re
import subprocess
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import pytest

from folded import Profile
from helpers import PROGRAMS, told_lost, wait_for
from waiting import answer, let_go, ready

PROBE = "mem_glibc"

# Every allocation, nothing thinned: what there was is what there has to be.
EXACT = {"mem_sample_bytes": 0, "max_overhead": 0}

# What `allocations` is built with, and what that takes.
NEEDS = {"musl": "musl-gcc", "musl_static": "musl-gcc", "jemalloc": "jemalloc", "tcmalloc": "tcmalloc"}


class Truth(NamedTuple):
    """Of a site: all that it was given, and what of it is left."""

    bytes: int
    objects: int
    held_bytes: int
    held_objects: int


def built_with(name, program="allocations"):
    """A program with that allocator, or a skip where it isn't installed."""
    path = PROGRAMS / f"{program}_{name}"
    if not path.exists() and name in NEEDS:
        pytest.skip(f"{path.name} was not built: no {NEEDS[name]}")
    return path.name


def library(name):
    """Path of a shared library, or a skip."""
    listed = subprocess.run(["/sbin/ldconfig", "-p"], text=True, capture_output=True, check=True)
    paths = [line.split()[-1] for line in listed.stdout.splitlines() if line.split()[0] == name]
    if not paths:
        pytest.skip(f"{name} is not installed")
    return paths[0]


def profile_allocations(profiler, *entries, probes=(PROBE,), **kwargs):
    """PUTs a profile of them, exact where nothing else is said, and waits until it is armed."""
    kwargs = {"thread_frame": 0, **EXACT, **kwargs}
    profiler.put_ok(profiler.wanting(*entries, probes=probes, **kwargs))
    wait_armed(profiler, probes)


def wait_armed(profiler, probes=(PROBE,)):
    for probe in probes:
        profiler.wait_running(probe)
    wait_for(lambda: profiler.config()["status"]["unwind"]["pending"] == 0, why="unwind tables")


def allocator(profiler, pid):
    """What GET says of a target's allocator: file, kind, state, points, …; {}: not looked at yet."""
    return profiler.processes().get(pid, {}).get("allocator") or {}


def is_clone(frame):
    """Where a thread begins. (The C library's own names are in a package of their own.)"""
    return "clone" in frame or frame.startswith("[libc.so.6+")


def wait_probed(profiler, *targets):
    for target in targets:
        wait_for(lambda pid=target.pid: allocator(profiler, pid).get("state") == "probed",
                 why=f"the allocator of {target.pid} is probed")  # fmt: skip
    wait_for(lambda: tables_are_there(profiler, *targets), why="unwind tables")


def code_files(target):
    """The files whose code it has mapped."""
    lines = [line.split(maxsplit=5) for line in Path(f"/proc/{target.pid}/maps").read_text().splitlines()]
    return {line[5] for line in lines if "x" in line[1] and line[5:] and line[5].startswith("/")}


def tables_are_there(profiler, *targets):
    """Whether their first files (program, loader, allocator) have been looked at for unwind information, and none is
    under way. (An allocator may be probed before the process's mappings are known; and what is mapped after these were
    read is found with the first stack in it.)"""
    text = profiler.get("/metrics").text
    seen = sum(int(number) for number in re.findall(
        r"^stackprobe_unwind_(?:built|shared|failed|bare|refused)_total (\d+)$", text, re.MULTILINE))  # fmt: skip
    return re.search(r"^stackprobe_unwind_pending 0$", text, re.MULTILINE) and \
        seen >= min(3, len(set().union(*map(code_files, targets))))


def standing_by(profiler, start, name, *args, entry=None, **kwargs):
    """A program before its first allocation, and all points are there. let() goes on."""
    target = ready(start, name, *args)
    profile_allocations(profiler, entry or f"^{Path(name).name[:15]}$", **kwargs)
    wait_probed(profiler, target)
    return target


def let(target):
    """Lets it work; returns {site: Truth}."""
    return truth_of(let_tell(target))


def let_tell(target):
    """Lets it work; returns all that it tells."""
    let_go(target)
    return answer(target)


def truth_of(told):
    return {name: Truth(*figures) for name, figures in told["sites"].items()}


def view(profiler, name=None, probe=PROBE, **query):
    """A view's folded text: bytes, or with value="count" objects."""
    if name:
        query["view"] = name
    got = profiler.get(f"/flamegraph/{probe}.folded?" + urlencode(query))
    assert got.status == 200, got.text
    return Profile(got.text)


class Views:
    """What was allocated and what is in use, taken while nothing changes."""

    def __init__(self, profiler, **query):
        self.bytes = view(profiler, **query)
        self.objects = view(profiler, value="count", **query)
        self.held_bytes = view(profiler, "inuse", **query)
        self.held_objects = view(profiler, "inuse", value="count", **query)

    def of(self, *frames):
        """Truth as the profiles have it."""
        return Truth(*(profile.total(*frames) for profile in self.all()))

    def all(self):
        return self.bytes, self.objects, self.held_bytes, self.held_objects

    def sites(self, truth):
        """{site: Truth} for these sites. A site is one frame."""
        return {name: self.of(name) for name in truth}

    def assert_exact(self, truth):
        seen = self.sites(truth)
        wrong = {name: {"seen": seen[name], "is": truth[name]} for name in truth
                 if seen[name] != truth[name]}  # fmt: skip
        assert not wrong, wrong

    def assert_whole(self):
        for profile in self.all():
            cut = [s for s in profile.stacks if s.has("[truncated]")]
            assert not cut, cut[:3]

    def stacks(self, *frames):
        return [s for s in self.bytes.stacks if s.has(*frames)]


def assert_nothing_lost(profiler, probe=PROBE):
    lost = told_lost(profiler.probe(probe))
    assert not lost, lost


# What a probed process's code looks like


def changed_code(pid):
    """Parts of a process's mapped code that aren't as in their files: (file, offset, bytes there)."""
    changed = []
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            fields = line.split(maxsplit=5)
            if fields[1] != "r-xp" or len(fields) < 6 or not fields[5].startswith("/"):
                continue
            start, end = (int(number, 16) for number in fields[0].split("-"))
            memory.seek(start)
            have = memory.read(end - start)
            with Path(f"/proc/{pid}/map_files/{start:x}-{end:x}").open("rb") as file:
                file.seek(int(fields[2], 16))
                want = file.read(end - start)
            if have == want:
                continue
            changed += [(fields[5], hex(i), have[i : i + 4]) for i, (a, b) in
                        enumerate(zip(have, want)) if a != b]  # fmt: skip
    return changed


# How a probe's trap enters the kernel, and the call of the page that stands for returns.
TRAPS = ("asm_exc_int3_[k]", "entry_SYSCALL_64_after_hwframe_[k]")


def untrapped(profile):
    """Without what was sampled in a trap whose stack is cut: where its registers aren't kept yet, or where the kernel
    has replaced the return address and hasn't noted the true one yet, or not any more. Of who is trapped all the time
    that is some samples in a thousand, 9 to 13 of 1,900 here."""
    cut = [s for s in profile.stacks if s.has("[truncated]") and any(s.has(trap) for trap in TRAPS)]
    assert sum(s.value for s in cut) <= 0.02 * profile.total(), cut
    rest = Profile("")
    rest.stacks = [s for s in profile.stacks if s not in cut]
    return rest
