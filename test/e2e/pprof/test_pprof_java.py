"""Java's methods in pprof, with their files and lines, as `go tool pprof` reads them."""
import time
from pathlib import Path

import pytest

import pprof
from helpers import HZ, Target, wait_for
from javas import SOURCES, need_classes
from pprof_readers import GO, listed, peek, top
from pprof_rules import check

SOURCE = SOURCES / "truth/Turns.java"
MAIN, OUTER, INNER = (f"truth.Turns.{name}" for name in ("main", "outer", "inner"))
pytestmark = pytest.mark.usefixtures("go_pprof")
ENOUGH = 500  # samples of outer()
# Where their time is spent: a line is known but for a leaf's that was compiled.
LINES = {MAIN: ["outer();"], OUTER: ["sink += inner(2000);"]}


@pytest.fixture
def turns(java, work):
    need_classes()
    target = Target(java.argv("Turns"), work / "turns.log")
    yield target
    target.kill()


def test_java_has_its_methods_files_and_lines(profiler, turns, work):
    wait_for(lambda: turns.cpu_ns_now() > 5e8, 60)
    profiler.profile(pids=[turns.pid], frequency=HZ)
    path = work / "java.pb.gz"

    def has_enough():
        path.write_bytes(profiler.get("/flamegraph/oncpu.pb.gz").body)
        profile = pprof.read(path.read_bytes())
        return sum(one.values[0] for one in profile.samples if OUTER in profile.stack(one)) > ENOUGH

    time.sleep(2)
    wait_for(has_enough, 60, every=1)
    profile = pprof.read(path.read_bytes())
    check(profile)
    lines = SOURCE.read_text().split("\n")
    mine = {frame for frames in profile.frames_at.values() for frame in frames if frame.name.startswith("truth.Turns.")}
    assert {MAIN, OUTER, INNER} <= {frame.name for frame in mine}
    for frame in mine:
        assert Path(frame.file).name == "Turns.java", frame
    for name, texts in LINES.items():
        known = {}
        for sample in profile.samples:
            for frame in {one for one in profile.frames(sample) if one.name == name and one.line}:
                known[frame.line] = known.get(frame.line, 0) + sample.values[0]
        right = sum(value for line, value in known.items() if any(text in lines[line - 1] for text in texts))
        assert right > 0.8 * sum(known.values()) > 0, (name, known)
    if not GO:
        pytest.skip("no go")
    values = top(path)
    for name in LINES:
        assert values[name][1] == sum(one.values[0] for one in profile.samples if name in profile.stack(one))
    assert MAIN in peek(path, OUTER)[0] and INNER in peek(path, OUTER)[1]
    for name, (file, seen) in listed(path, LINES, SOURCE.parent).items():
        assert Path(file).name == "Turns.java"
        at, (_, text) = max(seen.items(), key=lambda one: one[1][0])
        assert text == lines[at - 1] and any(one in text for one in LINES[name]), (name, seen)
