"""Uploads of programs of each kind: what they are called, how many stacks they have, how deep."""
import subprocess
import time
from collections import defaultdict
from pathlib import Path

import pytest

from allocating import let_tell, wait_armed, wait_probed
from helpers import wait_for
from javas import javas, need_classes
from pprof_rules import DEPTH_MAX, MIB, SAMPLES_MAX
from pyroscope_asking import pyroscope
from pyroscope_double import Pyroscope
from uploads import PERIOD, assert_same, assert_whole, once, pid_of, pushed_stacks
from waiting import ready

MANY, DEEP = (100_000, 0), (8_000, 400)  # stacks of `branches`, and levels before they differ
HOSTILE = 'a;b\xff\n"<{,='
SYMBOLS = ["semi;colon", "blank and\ttab", 'quote\\s"', "<&>{}=,", "[42]main", "ünïcödé", "-", "x" * 70_000]

PYTHON = """
def named(text):
    def burn(): sum(range(20000))
    burn.__code__ = burn.__code__.replace(co_name=text, co_filename=text + ".py")
    try:
        burn.__code__ = burn.__code__.replace(co_qualname=text)
    except TypeError:
        pass
    return burn
all = [named(text) for text in (";", "a b", "[7]x", "\\n", "<script>", "\\U0001F600", "", "n" * 70_000)]
while True:
    for one in all: one()
"""


def hostile_program(work):
    """A program whose functions have these symbols."""
    numbers = range(len(SYMBOLS))
    functions = "".join(f"__attribute__((noinline)) void f{number}_(void)\n"
                        "{ for (volatile int i = 0; i < 1000000; i++) ; }\n" for number in numbers)  # fmt: skip
    calls = " ".join(f"f{number}_();" for number in numbers)
    source, built = work / "hostile.c", work / HOSTILE.encode("latin-1").decode("utf-8", "surrogateescape")
    source.write_text(f"{functions}int main(void) {{ for (;;) {{ {calls} }} }}\n")
    subprocess.run(["gcc", "-O1", "-fno-omit-frame-pointer", "-o", built, source], check=True)
    renamed = [f"--redefine-sym=f{number}_={SYMBOLS[number]}" for number in numbers]
    subprocess.run(["objcopy", *renamed, built], check=True)
    return built


def frames_of(server, pid):
    return {frame for one in server.stored for sample in one.samples if sample.labels.get("pid") == str(pid)
            for frame in sample.frames}  # fmt: skip


def test_native_python_and_java(uploader, start, work):
    script = work / "busy.py"
    script.write_text("def inner():\n    for _ in range(1000000):\n        pass\n\n\nwhile True:\n    inner()\n")
    native, python = start("cxxnames", 600), start("/usr/bin/python3", script)
    targets = {native.pid: "_start", python.pid: "inner"}
    if javas():
        need_classes()
        java = start(Path(javas()[-1].path), *javas()[-1].argv("Turns")[1:])
        wait_for(lambda: java.cpu_ns_now() > 5e8, 30)
        targets[java.pid] = "truth.Turns.outer"
    daemon = uploader()
    with Pyroscope() as server:
        daemon.send(server, pids=list(targets), multi_instance=1)
        wait_for(lambda: all(name in frames_of(server, pid) for pid, name in targets.items()), 60, 0.5,
                 why=lambda: {pid: sorted(frames_of(server, pid))[:20] for pid in targets})  # fmt: skip
        daemon.end(server)
        assert_whole(server)
        assert_same(pushed_stacks(server.stored, "oncpu"), daemon.wait_stacks("oncpu", set(targets)))
        lines = {frame.line for one in server.stored for sample in one.profile.samples
                 for frame in one.profile.frames(sample) if frame.name == "inner"}  # fmt: skip
        assert lines == {2, 3}


@pytest.mark.parametrize("multi_instance", [0, 1])
def test_hostile_names(uploader, start, work, multi_instance):
    """They arrive as they are, as far as they are texts; none of them does any harm to another."""
    native = start(hostile_program(work))
    python = start("/usr/bin/python3", "-c", PYTHON)
    daemon = uploader()
    with pyroscope() as server:
        daemon.send(server, pids=[native.pid, python.pid], multi_instance=multi_instance)
        wait_for(lambda: daemon.probe()["samples"] > 500, 30)
        daemon.end(server)
        assert_whole(server)
        files = daemon.wait_stacks("oncpu", {native.pid, python.pid})
        # (Each process has a body of its own: while the last one is made nothing waits.)
        wait_for(lambda: pushed_stacks(server.stored, "oncpu").total() >= files.total(), why="the last body")
        assert pushed_stacks(server.stored, "oncpu").total() == files.total()
        comm = HOSTILE.replace("\xff", "\ufffd")
        if multi_instance:
            assert set(server.label_values("comm")) == {comm, "python3"}
        else:
            roots = {sample.frames[0] for one in server.stored for sample in one.samples}
            assert {f"[{native.pid}]{comm}", f"[{python.pid}]python3"} == roots
        frames = {frame for one in server.stored for sample in one.samples for frame in sample.frames}
        for name in ("semi;colon", "blank and\ttab", "<&>{}=,", "[42]main", "ünïcödé", "-"):
            assert name in frames, sorted(frames)
        for name in (";", "a b", "[7]x", "<script>", "\U0001f600"):
            assert name in frames, sorted(frames)


def parts(server):
    """{window: [(samples, bytes) of its bodies]}"""
    found = defaultdict(list)
    for one in once(server.stored):
        found[one.from_ns].append((len(one.samples), one.profile.size))
    return found


@pytest.mark.alone("a window takes 108,000 stacks, and may lose a tenth")
def test_a_window_of_many_stacks_is_split(uploader, start):
    """By their number, or by their size: one program has many, the other has deep ones."""
    daemon = uploader(period=60, bpf="stacks = 131072; stack_ring_bytes = 8388608;")
    many, deep = [ready(start, "branches", count, depth) for count, depth in (MANY, DEEP)]
    probes = ("mem_glibc",)
    with Pyroscope(delay=0.05) as server:
        daemon.send(server, pids=[many.pid, deep.pid], probes=probes, mem_sample_bytes=0, thread_frame=0)
        wait_armed(daemon)
        wait_probed(daemon, many, deep)
        let_tell(many), let_tell(deep)
        daemon.end(server, probes, seconds=90)
        assert (server.refused, server.gaps(), server.repeated) == ([], [], [])
        pushed = pushed_stacks(server.stored, "mem_glibc")
        assert_same(pushed, daemon.wait_stacks("mem_glibc", {many.pid, deep.pid}))
        lost, made = sum(daemon.probe("mem_glibc")["lost"].values()), MANY[0] + DEEP[0]
        assert len(pushed) + lost >= made and lost < 0.1 * made, (len(pushed), lost)
        bodies = max(parts(server).values(), key=len)
        assert max(samples for samples, _ in bodies) == SAMPLES_MAX
        assert any(samples < SAMPLES_MAX and 1.5 * MIB < size <= 2 * MIB for samples, size in bodies), bodies
        assert daemon.lost() == {} and daemon.upload("maybe_twice") == 0


def deep(start):
    target = start("deep", 1010, 600)
    wait_for(lambda: target.cpu_ns_now() > 1e8, why="it burns")
    return target


def test_a_stack_that_is_too_deep_is_cut_at_its_root_and_says_so(uploader, start):
    """deep's stack has some more frames than it has levels: the walk has room for them, the server not."""
    target = deep(start)
    daemon = uploader()
    with pyroscope() as server:
        daemon.send(server, pids=[target.pid])
        wait_for(lambda: daemon.probe()["samples"] > 300, 30)
        daemon.end(server)
        assert_whole(server)
        stacks = daemon.wait_stacks("oncpu", {target.pid})
        deepest = max(stacks, key=len)
        assert len(deepest) > DEPTH_MAX and "[truncated]" not in deepest, "the file has it whole"
        pushed = pushed_stacks(server.stored, "oncpu")
        assert pushed.total() == stacks.total()
        for frames in pushed:
            assert len(frames) <= DEPTH_MAX
            if "bottom" in frames and len(frames) > 500:
                assert frames[:3] == (f"[{target.pid}]deep", "deep", "[truncated]"), frames[:5]
                assert frames.count("level") > 900 and frames[frames.index("bottom") - 1] == "level"
        assert sum(value for frames, value in pushed.items() if "[truncated]" in frames) > 0.9 * pushed.total()
        assert set(map(pid_of, pushed)) == {target.pid}


def test_what_is_drawn_still_waits_as_well(uploader, start):
    """The stop comes right behind a window's end, while that window, of deep stacks, is made into a body: the server gets it
    behind the last one, and until then it waits."""
    target = deep(start)
    daemon = uploader()
    with pyroscope() as server:
        daemon.send(server, pids=[target.pid])
        wait_for(lambda: daemon.probe()["samples"] > 300, 30)
        time.sleep((0.05 - time.time()) % PERIOD)
        daemon.end(server)
        assert_whole(server)
        assert pushed_stacks(server.stored, "oncpu").total() == daemon.wait_stacks("oncpu", {target.pid}).total()
