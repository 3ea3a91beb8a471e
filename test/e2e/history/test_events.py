"""What happened: GET /events."""
import os
import re
import signal
from pathlib import Path

import pytest

from asking import burning
from helpers import program, stopped, wait_for
from past import ask, folder, keeper  # noqa: F401


def events(daemon, **query):
    return ask(daemon, "/events", **query).json()["events"]


def texts(daemon, kind):
    return [event["text"] for event in events(daemon) if event["kind"] == kind]


@pytest.mark.quick
def test_what_happened_is_told_in_its_order_also_after_a_restart(keeper, start):
    daemon = keeper(window=1)
    target = burning(start)
    daemon.profile("^spin$")
    added = f"{target.pid} (spin) added for oncpu"
    wait_for(lambda: added in texts(daemon, "target"), why="it is a target")
    target.kill()
    wait_for(lambda: f"{target.pid} (spin) removed from oncpu" in texts(daemon, "target"), why="it has ended")
    daemon.put_ok(stopped())
    told = events(daemon)
    assert [event["time"] for event in told] == sorted(event["time"] for event in told)
    kinds = [event["kind"] for event in told]
    # The daemon was started before without this section in its conf file: with the default it has a history as well.
    assert kinds.index("put") > kinds.index("daemon") and kinds[-1] == "put", told
    assert [text for text in texts(daemon, "put")] == ["/flamegraph running: oncpu", "/flamegraph stopped: oncpu"]
    assert re.fullmatch(r"stackprobe \S+ began", texts(daemon, "daemon")[-1])
    daemon.stop()
    with (folder(daemon) / "events").open("a") as file:  # as after a power cut
        file.write("179600")
    daemon.start()
    again = wait_for(lambda: len(found := events(daemon)) >= len(told) + 2 and found, why="it has begun")
    assert again[: len(told)] == told
    assert [event["kind"] for event in again[len(told) :]] == ["daemon", "daemon"]
    assert "ends: signal" in again[len(told)]["text"] and "began" in again[-1]["text"]
    middle = told[-1]["time"]
    before, after = events(daemon, until=middle), events(daemon, **{"from": middle})
    assert before + after == again and before[0] == told[0] and told[-1] in after
    answer = ask(daemon, "/events", top=1).json()
    assert answer["events"] == again[-1:] and answer["left_out"] == len(again) - 1


EXECS = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
print("ready", flush=True)
signal.sigwait({signal.SIGUSR1})
os.execv("%s", ["spin", "600"])
"""


@pytest.mark.quick
def test_an_exec_of_a_process_that_stays_chosen_is_told(keeper, start):
    daemon = keeper(window=1)
    target = start(Path("/usr/bin/python3"), "-c", EXECS % program("spin"))
    wait_for(lambda: "ready" in target.log.read_text())
    name = Path(f"/proc/{target.pid}/comm").read_text().strip()
    daemon.profile(pids=[target.pid])
    wait_for(lambda: f"{target.pid} ({name}) added for oncpu" in texts(daemon, "target"), why="it is a target")
    target.popen.send_signal(signal.SIGUSR1)
    wait_for(lambda: texts(daemon, "exec") == [f"{target.pid} ({name}) executes (spin)"], why="its exec is told")
    target.kill()
    wait_for(lambda: f"{target.pid} (spin) removed from oncpu" in texts(daemon, "target"), why="it has ended")
    assert len(texts(daemon, "target")) == 2  # the exec was no end and no begin


def test_a_name_of_a_process_forges_no_event(keeper, start, copy):
    daemon = keeper(window=1)
    name = "a\n1 put x"
    target = start(copy("spin", name), 60)
    daemon.profile(pids=[target.pid])
    wait_for(lambda: texts(daemon, "target"), why="it is a target")
    assert f"{target.pid} (a 1 put x) added for oncpu" in texts(daemon, "target")
    assert all("x" not in text for text in texts(daemon, "put"))


@pytest.mark.parametrize("query", ["from=x", "from=5&until=4", "top=0", "top=1001"])
def test_what_is_no_time_is_refused_with_a_sentence(daemon, query):
    answer = daemon.get(f"/events?{query}")
    assert answer.status == 400 and answer.message


def test_what_could_not_be_kept_is_counted(keeper):
    """A second link: somebody else may see the file, so it isn't the daemon's own any more."""
    daemon = keeper(window=1)
    wait_for(lambda: texts(daemon, "daemon"))
    os.link(folder(daemon) / "events", folder(daemon) / "of-somebody")
    size = (folder(daemon) / "of-somebody").stat().st_size
    daemon.put_ok(stopped())
    wait_for(lambda: daemon.config()["status"]["history"]["events_lost"] == 1, why="it is counted")
    assert (folder(daemon) / "of-somebody").stat().st_size == size
    assert daemon.get("/events").status == 503
    assert "what happened could not be kept" in daemon.log
