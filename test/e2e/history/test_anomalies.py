"""Which processes are unlike their own past: GET /anomalies, and its lines in /metrics."""
import os
import re
import signal
from contextlib import contextmanager
from pathlib import Path

import pytest

from browsing import opened  # noqa: F401
from helpers import wait_for
from past import ask, keeper, wait_windows  # noqa: F401 (a fixture)

HZ = 997
CPU = Path("/sys/fs/cgroup/cpu")  # cgroup v1; with v2 alone the controller is below /sys/fs/cgroup itself


@contextmanager
def half_a_cpu(pid):
    """A control group of our own with the process in it, that may have half a CPU."""
    is_v1 = (CPU / "cpu.shares").exists()
    group = (CPU if is_v1 else Path("/sys/fs/cgroup")) / f"stackprobe-test-{pid}"
    if not is_v1 and "cpu" not in Path("/sys/fs/cgroup/cgroup.subtree_control").read_text().split():
        pytest.skip("no control group here has the CPU's controller")
    home = Path(f"/proc/{pid}/cgroup").read_text()
    group.mkdir()
    try:
        if is_v1:
            (group / "cpu.cfs_quota_us").write_text("50000")
        else:
            (group / "cpu.max").write_text("50000 100000")
        (group / "cgroup.procs").write_text(str(pid))
        yield f"/{group.name}", is_v1
    finally:
        if Path(f"/proc/{pid}").exists():
            line = re.search(r":cpu(?:,cpuacct)?:(.*)|^0::(.*)", home, re.MULTILINE)
            back = (CPU if is_v1 else Path("/sys/fs/cgroup")) / (line.group(1) or line.group(2) or "/").lstrip("/")
            (back / "cgroup.procs").write_text(str(pid))
        group.rmdir()


def rows_by_pid(told):
    return {row["pid"]: row for row in told["anomalies"]}


@pytest.mark.alone("its programs burn for a time of their own clocks")
def test_the_process_that_changed_is_told_with_its_function_and_its_quota(keeper, start, copy, opened):
    daemon = keeper(window=1)
    names = ("slower", "steady", "resting", "gone", "later")
    # At the end the whole of them must have room on one CPU.
    slower, steady, resting, gone = (start(copy("paced", name), 6, 6, 2, 2) for name in names[:4])
    daemon.profile(f"^({'|'.join(names)})$", frequency=HZ)
    with half_a_cpu(slower.pid) as (group, is_v1):
        wait_windows(daemon, 30)
        between = ask(daemon, "/windows", probe="oncpu").json()["range"]["until"]
        os.kill(slower.pid, signal.SIGUSR1)
        os.kill(resting.pid, signal.SIGSTOP)
        os.kill(gone.pid, signal.SIGKILL)
        gone.reap()
        later = start(copy("paced", "later"), 6, 6, 2, 2)
        wait_windows(daemon, 20, **{"from": between + 2, "until": between + 100})
        told = ask(daemon, "/anomalies", probe="oncpu", **{"from": between + 2, "before_from": between - 28,
                   "before_until": between}).json()  # fmt: skip
        see_what_is_unusual(opened, daemon, slower.pid, between)
    rows = rows_by_pid(told)
    assert told["tells"] and told["processes"] == 3, told  # not what has ended, nor what is new
    assert set(rows) == {slower.pid, resting.pid}, told  # the steady one isn't there
    assert steady.pid not in rows
    assert rows[resting.pid]["silent"] and not rows[slower.pid]["silent"]
    assert [(row["pid"], row["comm"]) for row in told["new"]] == [(later.pid, "later")] and told["new"][0]["rate"] > 0
    row = rows[slower.pid]
    assert row["comm"] == "slower"
    assert row["changes"][0]["name"] == "part_b" and row["changes"][0]["self"]["change"], row
    assert {"part_a", "part_c", "part_d"}.isdisjoint(change["name"] for change in row["changes"]), row
    assert row["cgroup"]["path"] == group and row["cgroup"]["cpus"] == 0.5, row
    assert row["cgroup"]["shares" if is_v1 else "weight"] == (1024 if is_v1 else 100)
    assert abs(row["cgroup"]["used_before"] - row["rate"]["before"] / HZ / 0.5) < 0.01


def see_what_is_unusual(opened, daemon, pid, between):
    """The page lists the same, and shows the process's range."""
    query = f"source=range&probe=oncpu&from={between + 2}&until={between + 22}"
    with opened(daemon, query) as page:
        page.wait(".facts", "samples")
        page.key("b")
        page.wait("#history .range", "CPUs")
        page.click("#history [data-do=unusual]")
        page.wait("#history caption", "processes are unlike their past")
        rows = page.texts("#history tbody tr")
        (number,) = (n for n, row in enumerate(rows, 1) if f"[{pid}]slower" in row)
        row = rows[number - 1]
        assert re.search(r"part_b .*\(\+\d+ %\)", row) and "% of its 0.5 CPUs" in row, row
        page.click(f"#history tbody tr:nth-child({number}) button")
        page.wait("#history .range", "slower")
        assert f"pids={pid}" in page.fragment


@pytest.mark.alone("its programs burn for a time of their own clocks")
def test_metrics_have_the_anomalies_of_the_last_look(keeper, start, copy):
    daemon = keeper(window=1)
    resting, steady = (start(copy("paced", name), 5, 20, 2, 2) for name in ("resting", "steady"))
    daemon.profile("^(resting|steady)$", frequency=HZ)
    wait_windows(daemon, 40)
    os.kill(resting.pid, signal.SIGSTOP)

    def lines():
        text = daemon.get("/metrics").text
        return dict(re.findall(r'^stackprobe_process_anomaly_rate\{probe="oncpu",pid="(\d+)",[^}]*when="before"\} (\S+)',
                               text, re.MULTILINE)), text  # fmt: skip

    found, text = wait_for(lambda: str(resting.pid) in (seen := lines())[0] and seen, 60, 1, why="it is told")
    assert float(found[str(resting.pid)]) > 0 and str(steady.pid) not in found, text
    assert re.search(r'^stackprobe_anomalies\{probe="oncpu"\} 1$', text, re.MULTILINE), text
    assert re.search(r'^stackprobe_anomaly_compared_processes\{probe="oncpu"\} 2$', text, re.MULTILINE)
    assert re.search(r'^stackprobe_anomaly_look_timestamp_seconds\{probe="oncpu"\} \d{10}$', text, re.MULTILINE)
    assert "stackprobe_anomaly_looks_failed_total 0\n" in text


def test_too_few_windows_tell_nothing(keeper, start):
    daemon = keeper(window=1)
    start("spin", 60)
    daemon.profile("^spin$", frequency=HZ)
    wait_windows(daemon, 2)
    told = ask(daemon, "/anomalies", probe="oncpu").json()
    assert told["tells"] is False and told["anomalies"] == []
