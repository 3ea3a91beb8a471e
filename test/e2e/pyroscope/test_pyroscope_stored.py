"""What the stand-in for Pyroscope tells of what it has stored."""

import pytest

from pprof_maker import S, cpu
from pyroscope_asking import CPU, SAMPLES, ask, begin, ingested, pushed, pyroscope, window


@pytest.fixture
def server():
    with pyroscope() as started:
        yield started


def test_totals_by_type_and_label(server):
    stacks = [("main;work", 3, {"pid": "7", "comm": "a b"}), ("main", 2, {"pid": "8"}), ("main", 1)]
    assert ask(server, pushed(cpu(*stacks).zipped())).status == 200
    assert server.types() == sorted([CPU, SAMPLES])
    assert server.total(SAMPLES) == 6 and server.total(CPU) == 6 * 10_101_010
    assert server.total("process_cpu:cpu", pid="7") == 3 * 10_101_010
    assert server.total("process_cpu:samples", service_name="demo", pid="9") == 0
    assert server.totals(SAMPLES, "pid") == {"7": 3, "8": 2}
    assert server.folded(SAMPLES, pid="8") == ["main 2"]
    assert server.stored[0].folded(SAMPLES) == ["main 3", "main;work 3"]
    assert (server.label_values("pid"), server.label_values("service_name")) == (["7", "8"], ["demo"])


def test_windows_that_meet_have_no_gap_in_any_order(server):
    for at in (60, 0, 30):
        assert ask(server, window("main;work", at=at)).status == 200
    assert server.gaps() == [] and server.doubled() == {}
    assert [len(windows) for windows in server.windows().values()] == [3, 3]


def test_holes_and_overlaps(server):
    for at, seconds in ((0, 30), (31, 30), (60, 30)):
        assert ask(server, window("main;work", at=at, seconds=seconds)).status == 200
    found = [(gap.what, gap.ns) for gap in server.gaps() if gap.type == CPU]
    assert found == [("hole", S), ("overlap", S)]


def test_series_have_windows_of_their_own(server):
    """Labels of samples make no series there: a process may be in some windows only."""
    assert ask(server, window(("main", 1, {"pid": "7"}))).status == 200
    assert ask(server, window(("main", 1, {"pid": "8"}), at=30)).status == 200
    for at in (0, 40):
        name = {"name": "demo.wall", "from": begin() + at, "until": begin() + at + 30}
        assert ask(server, ingested(**name)).status == 200
    (gap,) = server.gaps()
    assert (gap.what, gap.ns, dict(gap.labels)["__name__"]) == ("hole", 10 * S, "wall")


def test_the_parts_of_a_window_are_one(server):
    for stack in ("main;a", "main;b"):
        assert ask(server, window(stack)).status == 200
    assert (server.gaps(), server.doubled(), server.repeated) == ([], {}, [])
    assert ask(server, window("main;b", "main;c")).status == 200
    assert {key[3] for key in server.doubled()} == {("main", "b")}
    assert server.repeated == []
