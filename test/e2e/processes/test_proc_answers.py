"""/proc over HTTP: forms, choices, groups, refusals, a restart."""
import json
import os
import signal
import socket
import time
from pathlib import Path

import pytest

from accounts import PROBES, costs, put, states, watch
from helpers import wait_for
from waiting import ended, stands_by


@pytest.fixture
def burners(profiler, start):
    watch(profiler)
    targets = [start("spin", 60) for _ in range(3)]
    pids = {target.pid for target in targets}
    wait_for(lambda: pids <= {row["pid"] for row in costs(profiler, "proc_cpu")["rows"]}, why="all have rows")
    return pids


@pytest.mark.quick
def test_rows_are_sorted_and_the_rest_is_one(profiler, burners):
    found = costs(profiler, "proc_cpu", top=2)
    values = [row["run_ns"] for row in found["rows"]]
    assert len(values) == 2 and values == sorted(values, reverse=True)
    assert found["all"]["run_ns"] == sum(values) + found["others"]["run_ns"]
    assert found["by"] == "run_ns" and found["group_by"] == "pid"
    for by in ("voluntary", "slices"):
        values = [row[by] for row in costs(profiler, "proc_sched", by=by)["rows"]]
        assert values == sorted(values, reverse=True)


def test_each_form_says_the_same(profiler, burners):
    lines = profiler.get("/proc/proc_cpu.jsonl").text.splitlines()
    assert burners <= {json.loads(line)["pid"] for line in lines}
    text = profiler.get("/proc/proc_cpu.txt").text
    assert all(str(pid) in text for pid in burners) and "run_ns" in text and "spin" in text


@pytest.mark.parametrize("group_by", ["comm", "cgroup", "container", "pod", "none"])
def test_groups_add_up(profiler, burners, group_by):
    watch(profiler, group_by=group_by)
    found = costs(profiler, "proc_cpu")
    assert found["group_by"] == group_by
    assert sum(row["run_ns"] for row in found["rows"]) == found["all"]["run_ns"] > 0
    if group_by == "none":
        assert len(found["rows"]) == 1
    if group_by == "comm":
        (spinning,) = [row["processes"] for row in found["rows"] if row["comm"] == "spin"]
        assert spinning >= 3  # other tests have some, too


def test_kernel_threads_are_there(profiler, burners):
    def kernel():
        return [row for row in costs(profiler, "proc_sched")["rows"] if row.get("kernel")]

    assert wait_for(kernel, why="a kernel thread that has run")


def test_snoopers_choose(profiler, burners):
    one = min(burners)
    watch(profiler, pids=[one])
    assert {row["pid"] for row in costs(profiler, "proc_cpu")["rows"]} == {one}
    watch(profiler, "^spin$")
    assert {row["pid"] for row in costs(profiler, "proc_cpu")["rows"]} >= burners
    assert os.getpid() not in {row["pid"] for row in costs(profiler, "proc_cpu")["rows"]}


def chosen(profiler, **query):
    return {row["pid"] for row in costs(profiler, "proc_cpu", **query)["rows"]}


def test_a_command_line_chooses(profiler, start):
    """Those that are there, those that begin later, and one whose line changes with execve; also after their end."""
    shell = Path("/bin/sh")
    burn = "while :; do :; done"
    there, other = start(shell, "-c", burn, "one-of-mine"), start(shell, "-c", burn, "another")
    wanted = {"cmd": {"probe": ["proc_cpu"]}, "state": "running",
              "snoopers": {"proc_name": [{"comm": "^sh$", "cmdline": "one-of-mine"}]}}  # fmt: skip
    put(profiler, wanted)
    wait_for(lambda: chosen(profiler) == {there.pid}, why=lambda: chosen(profiler))
    later = start(shell, "-c", burn, "one-of-mine")
    wait_for(lambda: chosen(profiler) == {there.pid, later.pid}, why=lambda: chosen(profiler))
    changed = start(shell, "-c", "kill -STOP $$; whose=mine; exec sh -c 'while :; do :; done' one-of-$whose")
    wait_for(lambda: stands_by(changed), why="it stands by")
    assert chosen(profiler) == {there.pid, later.pid}
    os.kill(changed.pid, signal.SIGCONT)
    wait_for(lambda: chosen(profiler) == {there.pid, later.pid, changed.pid}, why=lambda: chosen(profiler))
    os.kill(there.pid, signal.SIGKILL)
    wait_for(lambda: ended(there), why="it is a zombie")
    assert chosen(profiler) == {there.pid, later.pid, changed.pid}
    there.reap()
    time.sleep(0.2)  # the kernel tells of its end
    for _ in range(2):
        assert chosen(profiler) == {there.pid, later.pid, changed.pid}
        put(profiler, wanted)  # the same again
    put(profiler, {"snoopers": {"proc_name": [{"comm": "", "cmdline": "another"}]}})
    wait_for(lambda: chosen(profiler) == {other.pid}, why=lambda: chosen(profiler))


def test_a_pid_chooses_what_it_forks_until_that_calls_execve(profiler, start):
    """A shell's subshells, three deep; and a program that one of them becomes."""
    shell = start(Path("/bin/sh"), "-c", """
        (while :; do :; done) & echo $!
        ((while :; do :; done) & echo $!; wait) &
        sh -c 'while :; do :; done' & echo $!
        wait
        """)  # fmt: skip

    def line(pid):
        return Path(f"/proc/{pid}/cmdline").read_bytes()

    wait_for(lambda: len(shell.log.read_text().split()) == 3, why="it has forked")
    begun = {int(pid) for pid in shell.log.read_text().split()}
    try:
        wait_for(lambda: len({line(pid) for pid in begun}) == 2, why="one is another program")
        forks = {pid for pid in begun if line(pid) == line(shell.pid)}
        assert len(forks) == 2
        watch(profiler, pids=[shell.pid], probes=["proc_cpu"])
        wait_for(lambda: chosen(profiler) >= forks, why=lambda: (chosen(profiler), forks))
        assert not chosen(profiler) & (begun - forks)
    finally:
        for pid in begun:
            os.kill(pid, signal.SIGKILL)


def test_what_makes_no_sense_is_refused(profiler):
    assert profiler.get("/proc").json() == {}
    assert profiler.get("/proc/proc_cpu.json").status == 404
    assert profiler.get("/proc/bogus.json?seconds=1").status == 404
    assert profiler.get("/proc/proc_cpu.svg?seconds=1").status == 404
    for query in ("seconds=0", "seconds=601", "seconds=1&top=0", "seconds=1&by=minor", "seconds=1&by=x", "seconds=1&pid=1"):
        answer = profiler.get("/proc/proc_cpu.json?" + query)
        assert answer.status == 400 and answer.message, query
    assert put(profiler, {"cmd": {"probe": ["runqlat"]}, "state": "running"}, 400).message


def test_a_client_that_has_closed_its_half_gets_the_answer(profiler, burners):
    with socket.socket(socket.AF_UNIX) as sock:  # whose peer is known also when it has closed its half
        sock.connect(str(profiler.socket))
        sock.sendall(b"GET /proc/proc_cpu.txt HTTP/1.0\r\n\r\n")
        sock.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: sock.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.0 200") or answer.startswith(b"HTTP/1.1 200")
    assert b"spin" in answer


def test_it_stops_and_unloads(profiler, burners):
    watch(profiler, state="stopped")
    assert set(states(profiler).values()) == {"stopped"}
    assert profiler.get("/proc/proc_cpu.json").status == 404
    watch(profiler)
    assert states(profiler) == dict.fromkeys(PROBES, "running")


def test_it_is_restored_after_a_restart(profiler, burners):
    profiler.conf.write_text(profiler.conf.read_text().replace("restore = false", "restore = true"))
    profiler.stop()
    profiler.start()
    wait_for(lambda: set(states(profiler).values()) == {"running"}, why="it runs")
    wait_for(lambda: burners <= {row["pid"] for row in costs(profiler, "proc_cpu")["rows"]}, why="rows")
