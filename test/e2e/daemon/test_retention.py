"""Old files: what goes, what stays, and that it is counted."""
import os
import re
import signal
import time
from datetime import datetime, timedelta

import pytest

from asking import until_sampled
from helpers import wait_for


def plant(daemon, days_ago, probe="oncpu", size=100):
    """A picture and its text as stackprobe would have written them then."""
    name = (datetime.now() - timedelta(days=days_ago)).strftime("%Y-%m-%d-%H-%M-%S")
    paths = [daemon.svg_dir / probe / name[:10] / f"{name}.svg",
             daemon.flame_dir / probe / name[:10] / f"{name}.folded"]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
    return paths


def removed(daemon):
    """Files removed since the start, as GET and /metrics tell it."""
    metric = re.search(r"^stackprobe_files_removed_total (\d+)$", daemon.get("/metrics").text,
                       re.MULTILINE)
    files = daemon.config()["status"]["files"]
    assert files["remove_failed"] == 0
    return files["removed"] if files["removed"] == int(metric[1]) else None


@pytest.mark.quick
def test_files_past_their_days_go_when_the_folder_is_told(keeping):
    daemon = keeping(days=7, bytes=0)
    old, young = plant(daemon, 8), plant(daemon, 6)
    other = daemon.svg_dir / "oncpu" / old[0].parent.name / "report.svg"
    other.write_text("mine")
    daemon.put_ok(daemon.wanting("^nothing-like-this$", state="stopped"))
    wait_for(lambda: removed(daemon) == 2, why="two files removed", seconds=30)
    assert not any(path.exists() for path in old)
    assert all(path.exists() for path in (*young, other))
    assert not old[1].parent.exists()
    assert "retention: 2 old files removed, 200 bytes" in daemon.log


def test_written_files_push_out_the_oldest(keeping, start):
    daemon = keeping(days=0, bytes=150_000)
    planted = [plant(daemon, days, size=50_000) for days in (3, 2, 1)]
    daemon.profile("^spin$", frequency=500)
    # 300,000 bytes are there: all but the youngest pair goes, and that when something is written.
    wait_for(lambda: removed(daemon) == 4, why="four files removed", seconds=30)
    for round_ in (1, 2):
        until_sampled(daemon, start("spin", 600))
        daemon.put_ok({"state": "stopped"})
        wait_for(lambda: daemon.config()["status"]["files"]["written"] == round_, why="written", seconds=30)
        daemon.put_ok({"state": "running"})
        daemon.wait_running()

    def total():
        files = daemon.files(daemon.svg_dir, "svg") + daemon.files(daemon.flame_dir, "folded")
        return sum(path.stat().st_size for path in files if path.exists())

    wait_for(lambda: total() <= 150_000, 30, why="at most 150,000 bytes")
    assert not any(path.exists() for pair in planted[:2] for path in pair)
    newest = max(daemon.files(daemon.svg_dir, "svg"), key=lambda path: path.stat().st_mtime_ns)
    assert (daemon.svg_dir / "oncpu/latest.svg").resolve() == newest
    wait_for(lambda: re.search(r"^stackprobe_files_kept_bytes [1-9]", daemon.get("/metrics").text,
                               re.MULTILINE), why="what is kept is told")


def test_nothing_behind_a_link_is_removed(keeping, work):
    daemon = keeping(days=1, bytes=1)
    outside = [work / "outside/2020-01-01/2020-01-01-00-00-00.svg", work / "outside/mine.svg"]
    outside[0].parent.mkdir(parents=True)
    for path in outside:
        path.write_text("keep")
    old = plant(daemon, 3, probe="offcpu")
    (daemon.svg_dir / "oncpu").symlink_to(work / "outside")
    (daemon.svg_dir / "offcpu/2020-01-01").symlink_to(outside[0].parent)
    os.link(outside[1], old[0].parent / f"{old[0].parent.name}-00-00-00.svg")
    daemon.put_ok(daemon.wanting("^nothing-like-this$", state="stopped"))
    wait_for(lambda: removed(daemon) == 2, why="the pair removed", seconds=30)
    assert all(path.read_text() == "keep" for path in outside)
    assert (old[0].parent / f"{old[0].parent.name}-00-00-00.svg").exists()


def test_without_limits_all_stays(keeping):
    daemon = keeping(days=0, bytes=0)
    old = plant(daemon, 3000)
    daemon.put_ok(daemon.wanting("^nothing-like-this$", state="stopped"))
    time.sleep(0.5)
    assert removed(daemon) == 0
    assert all(path.exists() for path in old)


def test_sighup_takes_other_limits(keeping):
    daemon = keeping(days=0, bytes=0)
    old, young = plant(daemon, 8), plant(daemon, 2)
    daemon.put_ok(daemon.wanting("^nothing-like-this$", state="stopped"))
    time.sleep(0.2)
    assert removed(daemon) == 0
    daemon.conf.write_text(daemon.conf.read_text().replace("days = 0;", "days = 3;"))
    daemon.popen.send_signal(signal.SIGHUP)
    wait_for(lambda: removed(daemon) == 2, why="two files removed", seconds=30)
    assert not any(path.exists() for path in old) and all(path.exists() for path in young)
