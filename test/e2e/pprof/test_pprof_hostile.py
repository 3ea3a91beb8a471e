"""pprof of what was made to hurt: odd bytes in names, very deep stacks, debug information that is garbage, cut
off, or goes round in circles. What is said of it is valid, and functions keep their names."""
import os
import platform
import signal
import time
from pathlib import Path

import pytest

import pprof
from bad_dwarf import circular, harmed
from helpers import HZ, program, wait_for
from pprof_readers import GO, top
from pprof_rules import check

NAMED = {"main", "outer", "middle", "inner_spin"}
X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="its program is for x86-64")
# As many bytes as `inner_spin` and `spin.c` have.
NAME, FILE = b'i\xff;\xc3<"()\x01\x7f', b"\xfe\n\"'<\xe2"
NAME_TEXT, FILE_TEXT = 'i\ufffd;\ufffd<"()\x01\x7f', "\ufffd\n\"'<\ufffd"


def taken(profiler, targets, samples=10, known=None):
    """A profile of them: when each has some samples they stop, so that all of the machine is there for reading.
    Reading has a limit of time, which a busy one may not keep: it is asked for until known(profile)."""
    profiler.profile(pids=[target.pid for target in targets], frequency=HZ)

    def have_samples():
        folded = profiler.folded()
        return all(folded.total(pid=target.pid) >= samples for target in targets)

    wait_for(have_samples, 60, every=0.3)
    time.sleep(1)  # times of a window are whole seconds, and none at all is no duration
    for target in targets:
        os.kill(target.pid, signal.SIGSTOP)

    def read():
        answer = profiler.get("/flamegraph/oncpu.pb.gz")
        assert answer.status == 200 and profiler.alive()
        profile = pprof.read(answer.body)
        check(profile)
        return (not known or known(profile)) and profile

    return wait_for(read, 30, every=0.5, why="what is known of them")


def lines_known(target):
    def known(profile):
        return all(frame.line for frame in frames_of(profile, target) if frame.name in NAMED)

    return known


def frames_of(profile, target):
    return {frame for sample in profile.of(pid=str(target.pid)) for frame in profile.frames(sample)}


def made(path, content):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o755)
    return path


def seen_by_go(profiler, work):
    """{function: (flat, cum)} of the same; nothing without it."""
    path = work / "hostile.pb.gz"
    path.write_bytes(profiler.get("/flamegraph/oncpu.pb.gz").body)
    return top(path) if GO else {}


def test_odd_bytes_in_names_and_paths(profiler, start, work):
    content = program("spin").read_bytes()
    assert content.count(b"inner_spin\0") and content.count(b"spin.c\0")
    content = content.replace(b"inner_spin\0", NAME + b"\0").replace(b"spin.c\0", FILE + b"\0")
    content = content.replace(b"burn_rounds\0", b"burn_\xf5\xfeunds\0")  # inlined: its name is the debug information's
    comm = b"\xff;\n\"<\xc3\x28".decode("utf-8", "surrogateescape")
    target = start(made(work / "bin" / comm, content), 60)

    def named_in(profile):
        return next((frame for frame in frames_of(profile, target) if frame.name == NAME_TEXT), None)

    profile = taken(profiler, [target], 100, known=lambda profile: (it := named_in(profile)) and it.line)
    named = named_in(profile)
    assert Path(named.file).name == FILE_TEXT and named.line > 0
    assert "burn_\ufffd\ufffdunds" in {frame.name for frame in frames_of(profile, target)}
    assert {profile.labels(one)["comm"] for one in profile.samples} == {"\ufffd;\n\"<\ufffd("}
    assert {one.file for one in profile.mappings if "/bin/" in one.file} == {f"{work}/bin/\ufffd;\n\"<\ufffd("}
    assert not GO or seen_by_go(profiler, work)[NAME_TEXT][1] >= 100


def test_a_stack_deeper_than_a_thousand(profiler, start, work):
    target = start("deep", 1500, 60)
    profile = taken(profiler, [target], 100)
    deepest = max(profile.samples, key=lambda one: len(one.locations))
    stack = profile.stack(deepest)
    assert len(stack) > 900 and stack[0] == "[truncated]" and stack.count("level") > 900, stack[:3]
    assert not GO or seen_by_go(profiler, work)["level"][1] >= 100


def test_harmed_debug_information(profiler, start, work):
    """Of each copy all functions are named; the whole one beside them has all its lines."""
    good = start("spin", 60)
    bad = {name: start(made(work / "bin" / name, content), 60) for name, content in harmed(program("spin")).items()}
    profile = taken(profiler, [good, *bad.values()], known=lines_known(good))
    for name, target in bad.items():
        names = {frame.name for frame in frames_of(profile, target)}
        assert NAMED <= names, (name, names)
        if name.startswith(("ff-info", "ff-abbrev", "big-info")):
            assert not any(frame.line for frame in frames_of(profile, target) if frame.name in NAMED), name
    lines = {frame.name: frame for frame in frames_of(profile, good) if frame.name in NAMED}
    assert all(frame.line and Path(frame.file).name == "spin.c" for frame in lines.values()), lines


def test_a_file_without_its_end(profiler, start, work):
    """The symbols went with it: a function is its place."""
    content = program("spin").read_bytes()
    target = start(made(work / "bin/short", content[: content.index(b"inner_spin\0")]), 60)
    frames = frames_of(taken(profiler, [target], 100), target)
    assert any(frame.name.startswith("[short+0x") for frame in frames)
    assert not any(frame.line for frame in frames if frame.name.startswith("[short+0x"))


@X86
def test_debug_information_that_goes_round_in_circles(profiler, start, work):
    """It has its name, and leaves time for the others."""
    (work / "bin").mkdir()
    circle, good = start(circular(work / "bin/circle")), start("spin", 60)
    profile = taken(profiler, [circle, good], known=lines_known(good))
    assert "main" in {frame.name for frame in frames_of(profile, circle)}
    assert all(frame.line for frame in frames_of(profile, good) if frame.name in NAMED)
