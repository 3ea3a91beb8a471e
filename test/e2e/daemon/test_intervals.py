"""?every=N: a profile of each interval, one after the other, while the client reads."""
import json
import re
import socket

import pytest

from folded import blocks
from helpers import wait_burned, wait_for

def test_each_interval_begins_where_the_one_before_ends(profiler, start):
    target = start("spin", "60")
    wait_burned(target.pid)
    got = profiler.get(f"/flamegraph/oncpu.folded?pid={target.pid}&every=1&count=4", timeout=60)
    assert got.status == 200
    seen = blocks(got.text)
    assert len(seen) == 4
    for before, after in zip(seen, seen[1:]):
        assert before[1] == after[0]
    assert all(until > began for began, until, _ in seen)
    assert sum(profile.total(pid=target.pid) for *_, profile in seen) > 20, got.text


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_json_has_a_line_of_time_before_each(profiler, start, ending):
    target = start("spin", "60")
    wait_burned(target.pid)
    got = profiler.get(f"/flamegraph/oncpu.{ending}?pid={target.pid}&every=1&count=2", timeout=60)
    lines = [json.loads(line) for line in got.text.splitlines()]
    times = [line for line in lines if "from" in line]
    assert len(times) == 2 and times[0]["until"] == times[1]["from"], got.text
    assert "from" in lines[0]
    if ending == "json":
        assert len(lines) == 4 and all("children" in line for line in lines[1::2])


def test_a_client_that_goes_ends_its_session(profiler, start):
    target = start("spin", "60")
    with socket.create_connection(("127.0.0.1", profiler.port)) as client:
        client.sendall(f"GET /flamegraph/oncpu.folded?pid={target.pid}&every=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
                       .encode())
        wait_for(lambda: b"# stackprobe" in client.recv(65536), why="an interval")
        assert sessions(profiler) == 1
    wait_for(lambda: sessions(profiler) == 0, why="its session has ended")
    assert profiler.get(f"/flamegraph/oncpu.folded?pid={target.pid}&seconds=1").status == 200


def sessions(profiler):
    return int(re.search(r"^stackprobe_ondemand_sessions (\d+)", profiler.get("/metrics").text, re.M)[1])


@pytest.mark.parametrize(("query", "says"), [
    ("every=0", "every must be a number from 1 to 600"),
    ("count=3", "count needs every"),
    ("every=1&count=0", "count must be a number"),
    ("every=1&seconds=3", "every and seconds exclude each other"),
])
def test_nonsense_is_refused(profiler, start, query, says):
    target = start("spin", "60")
    got = profiler.get(f"/flamegraph/oncpu.folded?pid={target.pid}&{query}")
    assert got.status == 400 and says in got.text, got.text
    got = profiler.get(f"/flamegraph/oncpu.svg?pid={target.pid}&every=1")
    assert got.status == 400 and "every is for folded, json and jsonl" in got.text, got.text
