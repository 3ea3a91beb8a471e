"""That a container is sampled, and that it is no longer: events of kind `container`."""
import re
import time
from pathlib import Path

import pytest

from helpers import stopped, wait_for
from past import ask, keeper  # noqa: F401
from test_containers import choose

BEGAN = re.compile(r"is sampled: (its first process )?(\d+) \((.*)\) began ([\d.]+) s before$")
ENDED = re.compile(r"hasn't been sampled for ([\d.]+) s: (\d+) \((.*)\) (has ended|isn't chosen any more)$")


def told(daemon, one):
    """Texts on that container, without its name and id."""
    events = ask(daemon, "/events", top=1000).json()["events"]
    begin = f"{one.name} ({one.id[:12]}) "
    return [event["text"].removeprefix(begin) for event in events
            if event["kind"] == "container" and event["text"].startswith(begin)]  # fmt: skip


def wait_told(daemon, one, count):
    return wait_for(lambda: len(found := told(daemon, one)) >= count and found, why=lambda: told(daemon, one))


@pytest.mark.quick
def test_a_container_is_told_with_its_first_process_and_when_it_has_ended(keeper, podman):
    daemon = keeper(window=1)
    name = podman.name()
    choose(daemon, container_name=[name])
    began = time.monotonic()
    one = podman.run("c", "/opt/c_spin", 600, name=name)
    pid, age_most = one.pid, time.monotonic() - began
    (text,) = wait_told(daemon, one, 1)
    found = BEGAN.match(text)
    assert found[1] and int(found[2]) == pid and found[3] == "c_spin", text
    assert float(found[4]) <= age_most + time.monotonic() - began
    one.remove()
    texts = wait_told(daemon, one, 2)
    found = ENDED.match(texts[1])
    assert len(texts) == 2 and int(found[2]) == pid and found[4] == "has ended", texts
    assert float(found[1]) >= 2


def test_programs_that_come_and_go_in_it_are_one_container(keeper, podman):
    """A shell and what it starts; and an execve, by which the container's only process becomes another program."""
    daemon = keeper(window=1)
    name = podman.name()
    choose(daemon, container_name=[name])
    loop = "i=0; while [ $i -lt 20 ]; do /bin/true; i=$((i+1)); done; exec /opt/c_spin 600"
    one = podman.run("c", "/bin/sh", "-c", loop, name=name)
    wait_for(lambda: Path(f"/proc/{one.pid}/comm").read_text() == "c_spin\n", why="its last execve")
    wait_for(lambda: one.pid in daemon.processes(), why="that is sampled")
    daemon.put_ok(stopped())
    texts = wait_told(daemon, one, 2)
    assert len(texts) == 2 and BEGAN.match(texts[0]) and ENDED.match(texts[1])[4] == "isn't chosen any more", texts


def test_after_a_restart_a_container_that_was_there_is_not_said_to_begin(keeper, podman):
    daemon = keeper(window=1)
    one = podman.run("c", "/opt/c_spin", 600)
    there = time.monotonic()
    choose(daemon, container_name=[one.name])
    wait_told(daemon, one, 1)
    daemon.stop()
    daemon.start()
    choose(daemon, container_name=[one.name])
    texts = wait_told(daemon, one, 2)
    assert len(texts) == 2
    age = float(BEGAN.match(texts[1])[4])
    assert age > 0 and age > float(BEGAN.match(texts[0])[4]), texts
    assert age <= time.monotonic() - there + 60
