"""/proc by container: the sum of its processes, also of those that have ended, and when it is no more."""
import os
import re
import signal
import time

import pytest

from accounts import costs, cpu_clock, watch
from helpers import wait_for


def rows_of(profiler, name, probe="proc_cpu"):
    return [row for row in costs(profiler, probe)["rows"] if row.get("container") == name]


@pytest.mark.quick
def test_a_container_has_its_sum_also_after_its_end(profiler, podman):
    watch(profiler, group_by="container")
    one = podman.run("c", "/opt/c_spin", 600)
    pid = one.pid
    wait_for(lambda: rows_of(profiler, one.name), why="its row")
    wait_for(lambda: cpu_clock(pid) > 3e8, why="it has burned")
    clock = cpu_clock(pid)
    (row,) = wait_for(lambda: [row for row in rows_of(profiler, one.name) if row["run_ns"] >= clock], why="as much")
    metric = re.compile(rf'^stackprobe_container_cpu_seconds_total{{container="{one.name}".*}} (\S+)$', re.M)
    found = wait_for(lambda: metric.search(profiler.get("/metrics").text), why="its metric")
    assert float(found[1]) > 0.3
    one.remove()
    (after,) = wait_for(lambda: rows_of(profiler, one.name), why="its row")
    assert after["run_ns"] >= row["run_ns"] and after["processes"] >= row["processes"] >= 1


def test_short_processes_of_a_container_count_for_it(profiler, podman):
    """Each lives for milliseconds; the shell that starts them is there when the cgroup is looked at."""
    watch(profiler, group_by="container")
    loop = "read x </dev/null; i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done; /bin/sleep 600"
    one = podman.run("c", "/bin/sh", "-c", loop)
    wait_for(lambda: rows_of(profiler, one.name), why="its row")

    def all_are_there():
        told = costs(profiler, "proc_fault")
        rows = [row for row in told["rows"] if row.get("container") == one.name]
        return rows if rows and rows[0]["processes"] + told["lost"]["processes"] >= 301 else None

    (row,) = wait_for(all_are_there, 60, why=lambda: costs(profiler, "proc_fault"))
    assert row["minor"] >= (row["processes"] - 1) * 20


COMING_AND_GOING = int(os.environ.get("CONTAINERS", "8"))
SUMS = re.compile(r'^(stackprobe_(?:container|node_process)_cpu_seconds_total)(?:{container="([^"]*)".*})? (\S+)$', re.M)


def test_containers_come_and_go_and_no_sum_decreases(profiler, podman):
    """A hundred, in five minutes: CONTAINERS=100."""
    signal.alarm(120 + 6 * COMING_AND_GOING)
    watch(profiler, report_period=5)
    seen, made = {}, []

    def look():
        for metric, name, value in SUMS.findall(profiler.get("/metrics").text):
            assert float(value) >= seen.get((metric, name), 0), (metric, name, value)
            seen[metric, name] = float(value)

    for _ in range(COMING_AND_GOING):
        one = podman.run("c", "/opt/c_spin", 600)
        made.append(one.name)
        pid = one.pid
        for _ in range(4):
            look()
            time.sleep(0.5)
        wait_for(lambda pid=pid: cpu_clock(pid) > 3e8, every=0.2, why="it has burned")
        one.remove()
        look()
    rows = {row["container"]: row for row in costs(profiler, "proc_cpu", group_by="container")["rows"] if "container" in row}
    for name in made:
        assert rows[name]["run_ns"] > 2e8, (name, rows.get(name))
        assert rows[name]["run_ns"] / 1e9 >= seen["stackprobe_container_cpu_seconds_total", name] - 1e-9
