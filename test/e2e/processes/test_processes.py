"""GET /processes: what runs, read from /proc, with no probe or beside some."""
import os
import re
import subprocess
from pathlib import Path
from urllib.parse import urlencode

import pytest

from asking import burning
from bpf_objects import held
from helpers import stopped, wait_for

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGESIZE")
MOST = 2000  # rows


def processes(daemon, **query):
    answer = daemon.get("/processes?" + urlencode(query))
    assert answer.status == 200, answer.text
    return answer.json()


def rows_of(daemon, **query):
    return {row["pid"]: row for row in processes(daemon, **{"limit": MOST, **query})["processes"]}


def stat(pid):
    """Fields of /proc/PID/stat by their numbers of proc(5)."""
    return dict(enumerate(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split(), 3))


def cpu_s(pid):
    fields = stat(pid)
    return (int(fields[14]) + int(fields[15])) / TICKS


def wait_s(pid):
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9


@pytest.mark.quick
def test_numbers_are_the_kernels_own_at_that_moment(daemon, start):
    """At two moments: two answers make a rate."""
    target = burning(start)
    found = []
    for _ in range(2):
        before = cpu_s(target.pid), wait_s(target.pid)
        answer = processes(daemon, limit=MOST)
        after = cpu_s(target.pid), wait_s(target.pid)
        (row,) = [row for row in answer["processes"] if row["pid"] == target.pid]
        assert before[0] <= row["cpu_s"] <= after[0]
        assert before[1] <= row["wait_s"] <= after[1]
        found.append((answer["at"], row))
        wait_for(lambda cpu=after[0]: cpu_s(target.pid) > cpu + 0.2, why="it burns")
    (first_at, first), (second_at, second) = found
    assert second_at > first_at and second["cpu_s"] > first["cpu_s"] and second["start"] == first["start"]
    fields = stat(target.pid)
    assert first["threads"] == int(fields[20]) == 1 and first["rss"] == int(fields[24]) * PAGE
    assert first["state"] == "R" and first["comm"] == "spin" and first["command"].endswith("/spin 600")
    assert answer["cpus"] == os.sysconf("SC_NPROCESSORS_ONLN")


def test_no_bpf_program_is_loaded_for_it(profiler, start):
    target = burning(start)
    assert rows_of(profiler)[target.pid]["probes"] == []
    assert not held(profiler.pid, "prog")


def test_threads_are_counted_and_their_waits_summed_up(daemon, start):
    text = """import threading, time
for _ in range(4): threading.Thread(target=time.sleep, args=(600,)).start()
print(1, flush=True)"""
    target = start(Path("/usr/bin/python3"), "-c", text)
    wait_for(target.log.read_text, why="its threads are there")
    tasks = [path.name for path in Path(f"/proc/{target.pid}/task").iterdir()]

    def waited():
        return sum(wait_s(f"{target.pid}/task/{task}") for task in tasks)

    before = waited()
    row = rows_of(daemon)[target.pid]
    assert row["threads"] == len(tasks) == 5
    assert before - 1e-6 <= row["wait_s"] <= waited() + 1e-6  # sums of fractions


@pytest.mark.parametrize("sort, key", [("cpu", "cpu_s"), ("wait", "wait_s"), ("rss", "rss"), ("pid", "pid"), (None, "cpu_s")])
def test_rows_are_sorted_and_the_rest_is_one(daemon, start, sort, key):
    burning(start)
    query = {"sort": sort} if sort else {}
    all_of_them = processes(daemon, limit=MOST, **query)
    values = [row[key] for row in all_of_them["processes"]]
    assert values == sorted(values, reverse=key != "pid")
    found = processes(daemon, limit=2, **query)
    assert len(found["processes"]) == 2 and "others" not in all_of_them
    assert found["others"]["processes"] > 0 and found["others"]["threads"] >= found["others"]["processes"]
    if key == "rss":
        assert found["others"]["rss"] > 0


def test_what_is_sampled_has_its_probes_as_long_as_it_is(profiler, start):
    target, other = burning(start), burning(start)
    profiler.put_ok(profiler.wanting(pids=[target.pid], probes=("oncpu", "offcpu")))
    profiler.wait_running()

    def covered():
        row = rows_of(profiler)[target.pid]
        return row["covered"] and row

    row = wait_for(covered, why="its tables are there")
    assert row["probes"] == ["oncpu", "offcpu"] and row["runtime"] == "native"
    beside = rows_of(profiler)[other.pid]
    assert beside["probes"] == [] and beside["covered"] is None and beside["runtime"] is None
    profiler.put_ok(stopped())
    row = rows_of(profiler)[target.pid]
    assert row["probes"] == [] and row["covered"] is None


@pytest.mark.parametrize("name", ['a"b\\c', "<b>;x", "two\nlines", "ünïcödé", "\x1b[31mred", ") R 1 2"])
def test_a_name_and_a_command_line_come_as_they_are(daemon, start, copy, name):
    path = copy("spin", name)
    target = start(path, 600)
    row = rows_of(daemon)[target.pid]
    assert row["comm"] == name and row["command"] == f"{path} 600"


def test_a_command_line_is_cut_and_no_utf8_is_told_as_such(daemon, start):
    bad, long, exact = (start(Path("/bin/sh"), "-c", "read x", "a", argument, stdin=subprocess.PIPE)
                        for argument in (b"\xff\xfe" + b"y" * 5, "ä" * 2000, "two words\n"))  # fmt: skip
    rows = rows_of(daemon)
    assert rows[bad.pid]["command"] == "/bin/sh -c read x a \ufffd\ufffdyyyyy"
    assert rows[exact.pid]["command"] == "/bin/sh -c read x a two words\n"
    command = rows[long.pid]["command"]
    assert command.startswith("/bin/sh -c read x a ää") and command.endswith("ä…") and "\ufffd" not in command
    assert 250 < len(command.encode()) <= 256 + len("…".encode())


def test_whose_a_process_is(daemon, start):
    if os.geteuid():
        pytest.skip("needs root, to start somebody else's")
    theirs = start(Path("/bin/sleep"), 600, user=65534, cwd="/")
    nameless = start(Path("/bin/sleep"), 600, user=54321, cwd="/")
    own = start(Path("/bin/sleep"), 600)
    rows = rows_of(daemon)
    assert [rows[one.pid]["user"] for one in (theirs, nameless, own)] == ["nobody", "54321", "root"]


def test_a_zombie_and_a_thread_of_the_kernel_have_no_command_line(daemon, start):
    zombie = start(Path("/bin/true"))
    wait_for(lambda: stat(zombie.pid)[3] == "Z", why="it has ended")
    row = rows_of(daemon)[zombie.pid]
    assert row["state"] == "Z" and row["command"] is None
    kernel = [row for row in rows_of(daemon).values() if row["comm"] == "kthreadd"]
    assert all(row["command"] is None and row["rss"] == 0 for row in kernel)


def test_a_container_has_its_name(profiler, podman):
    one = podman.run("c", "/opt/c_spin", 600)
    row = wait_for(lambda: (found := rows_of(profiler)[one.pid]).get("container") == one.name and found, why="its name")
    assert row["comm"] == "c_spin" and row["command"] == "/opt/c_spin 600"


@pytest.mark.parametrize("query, message", [
    ("sort=threads", "sort must be one of cpu, wait, rss, pid"), ("sort=CPU", "sort must be one of cpu, wait, rss, pid"),
    ("limit=0", "limit must be a number from 1 to 2000"), ("limit=2001", "limit must be a number from 1 to 2000"),
    ("limit=x", "limit must be a number from 1 to 2000"),
])  # fmt: skip
def test_what_it_can_not_do_is_refused_with_a_sentence(daemon, query, message):
    answer = daemon.get("/processes?" + query)
    assert answer.status == 400 and answer.message == message


def test_it_is_read_only_and_nothing_is_below_it(daemon):
    for method in ("PUT", "POST", "DELETE"):
        answer = daemon.request(method, "/processes", b"{}")
        assert answer.status == 405 and answer.headers["Allow"] == "GET, HEAD"
    head = daemon.request("HEAD", "/processes")
    assert head.status == 200 and head.headers["Cache-Control"] == "no-store" and not head.body
    assert daemon.get("/processes/1").status == 404
    assert "limit" in daemon.get("/processes?limt=3").headers["Stackprobe-Warning"]


def test_the_text_for_curl_says_how_it_is_asked(daemon):
    text = daemon.get("/").text
    (path,) = re.findall(r"(/processes\?[^']*)'", text)
    assert daemon.get(path).status == 200
