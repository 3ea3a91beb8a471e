"""?top=, ?min=, ?max=, ?sort=: stacks chosen by their values, in each output."""
import json

import pytest

from folded import Profile
from helpers import wait_for
from waiting import let_go, ready, stands_by


@pytest.fixture
def at_rest(profiler, start, work):
    """A profile that doesn't change: io of a program that has ended its work."""
    target = ready(start, "moves", work)
    profiler.put_ok(profiler.wanting(pids=[target.pid], probes=("io",), max_overhead=0))
    profiler.wait_running("io")
    let_go(target)
    wait_for(lambda: stands_by(target) and target.log.read_text(), why="it has moved all")
    return profiler


def lines(profiler, query="", ending="folded"):
    got = profiler.get(f"/flamegraph/io.{ending}?{query}")
    assert got.status == 200, got.text
    return got.text.splitlines()


def value(line):
    return int(line.rsplit(" ", 1)[1])


def test_the_largest_come_first(at_rest):
    every = sorted(lines(at_rest), key=value, reverse=True)
    assert lines(at_rest, "sort=value") == every  # (both sorts are stable)
    largest = lines(at_rest, "top=5")
    assert [value(line) for line in largest] == [value(line) for line in every[:5]]
    assert set(largest) <= set(every)
    assert lines(at_rest, "top=5&sort=name") == sorted(largest, key=lines(at_rest).index)


def test_bounds(at_rest):
    every = lines(at_rest)
    assert lines(at_rest, "min=9000&max=20000") == [line for line in every if 9000 <= value(line) <= 20000]
    assert lines(at_rest, "value=count&min=21") == [line for line in lines(at_rest, "value=count") if value(line) > 20]
    assert lines(at_rest, "min=1000000000") == []


def test_each_output_has_the_same_stacks(at_rest):
    total = sum(value(line) for line in lines(at_rest, "top=4"))
    assert total == sum(json.loads(line)["count"] for line in lines(at_rest, "top=4", "jsonl"))
    assert json.loads("\n".join(lines(at_rest, "top=4", "json")))["total"] == total
    counts = [json.loads(line)["count"] for line in lines(at_rest, "sort=value", "jsonl")]
    assert counts == sorted(counts, reverse=True)
    assert f"{total:,}" in at_rest.get("/flamegraph/io.svg?top=4").text
    assert len(Profile("\n".join([*lines(at_rest, "top=4"), ""])).stacks) == 4


@pytest.mark.parametrize(("query", "says"), [
    ("top=0", "top must be a number"), ("top=x", "top must be a number"), ("max=0", "min and max must be"),
    ("min=-3", "min and max must be"), ("min=5&max=4", "min must not be more than max"),
    ("sort=size", "sort must be name or value"),
])
def test_nonsense_is_refused(at_rest, query, says):
    got = at_rest.get(f"/flamegraph/io.folded?{query}")
    assert got.status == 400 and says in got.text, got.text
    assert at_rest.get("/flamegraph/io.svg?sort=value").status == 400
