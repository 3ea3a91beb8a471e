"""What changes or goes wrong while containers are looked for: one is renamed, nothing is left to search with, a
runtime's state hangs."""
import http.client
import json
import os
import re
import resource
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from hanging_folder import OPEN, HangingFolder
from helpers import PROGRAMS, wait_for
from test_containers import STATE, body, choose, told_of, wait_chosen, wait_sampled

SLOW = 10  # seconds: who waits for what hangs has no answer at all
DOCKERS = "5bd8f1c2a94e7f3064c1e2d3b4a5968778695a4b3c2d1e0ff0e1d2c3b4a59687"


@pytest.fixture
def one(podman):
    return podman.run("c", "/opt/c_spin", 600)


def mounted():
    """Where cgroups of version 2 are."""
    found = re.search(r"^\S+ (\S+) cgroup2 ", Path("/proc/mounts").read_text(), re.M)
    if not found:
        pytest.skip("no cgroups of version 2 here")
    return Path(found[1])


@contextmanager
def in_a_group(path, *argv):
    """A process in a cgroup of its own, of version 2."""
    levels = [mounted()]
    for name in path.split("/"):
        levels.append(levels[-1] / name)
        levels[-1].mkdir()
    moved = subprocess.Popen(["/bin/sh", "-c", f'echo $$ > {levels[-1]}/cgroup.procs; exec "$@"', "sh", *argv],
                             stdout=subprocess.DEVNULL)  # fmt: skip
    try:
        yield moved.pid
    finally:
        moved.kill()
        moved.wait()
        for level in reversed(levels[1:]):
            wait_for(lambda level=level: not (level / "cgroup.procs").read_text())
            level.rmdir()


def test_one_that_is_renamed_goes_by_its_new_name(profiler, podman):
    """Within 15 s; by the old one nothing is chosen any more."""
    moved, other = (podman.run("c", "/opt/c_spin", 600) for _ in range(2))
    old, new = moved.name, podman.name("renamed")
    choose(profiler, container_name=[old, f"/^{other.name}$/"])
    wait_chosen(profiler, moved, other)
    moved.rename(new)
    wait_for(lambda: set(profiler.processes()) == {other.pid}, 25, 0.2)
    assert profiler.folded(pid=moved.pid).containers() == {(None, new)}  # all that was sampled of it
    choose(profiler, container_name=[new])
    wait_chosen(profiler, moved)
    assert told_of(profiler, moved.pid)[0] == new


# A search that fails


@contextmanager
def no_descriptors(daemon):
    """It can open nothing more. (What it has open stays.)"""
    before = resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        yield
    finally:
        resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, before)


def ask(connection):
    connection.request("GET", "/flamegraph")
    answer = connection.getresponse()
    text = answer.read().decode()
    assert answer.status == 200, text
    return json.loads(text)["status"]


def test_a_search_that_fails_is_counted_and_made_again(profiler, start):
    """Of a process that was moved into a cgroup that is chosen, nothing can be read at first."""
    group = f"stackprobe-e2e-{os.getpid()}/chosen"
    with in_a_group(group, "/bin/sleep", "60") as there:
        choose(profiler, cgroup=[f"/{group}"])
        wait_for(lambda: set(profiler.processes()) == {there}, 30)
        moved = start("spin", 60)
        connection = http.client.HTTPConnection("127.0.0.1", profiler.port, timeout=10)
        ask(connection)  # it is there before nothing can be opened any more
        assert ask(connection)["containers"]["searches_failed"] == 0
        with no_descriptors(profiler):
            (mounted() / group / "cgroup.procs").write_text(str(moved.pid))
            # and again, after 1 s
            wait_for(lambda: ask(connection)["containers"]["searches_failed"] >= 2, 30, why=lambda: ask(connection))
            assert {one["pid"] for one in ask(connection)["processes"]} == {there}
        connection.close()
        wait_for(lambda: set(profiler.processes()) == {there, moved.pid}, 30, why=profiler.processes)
        count = re.search(r"^stackprobe_containers_searches_failed_total (\d+)$", profiler.get("/metrics").text, re.M)
        assert int(count[1]) == profiler.config()["status"]["containers"]["searches_failed"] >= 2
        moved.kill()


# A state that hangs


def answers(daemon, doc=None):
    began = time.monotonic()
    answer = daemon.put(doc) if doc else daemon.get("/flamegraph")
    assert answer.status == 200, answer.text
    assert time.monotonic() - began < SLOW


@pytest.mark.parametrize("after", [None, OPEN], ids=["when it is looked for", "when it is read"])
def test_a_state_that_hangs_costs_its_own_names_alone(profiler, podman, one, work, after):
    """podman's list never comes: all its containers go without names, docker's has its own. Nobody waits."""
    root = work / "host"
    (root / STATE).mkdir(parents=True)
    dockers = root / f"var/lib/docker/containers/{DOCKERS}"
    dockers.mkdir(parents=True)
    (dockers / "config.v2.json").write_text(json.dumps({"ID": DOCKERS, "Name": "/beside", "Config": {"Image": "i"}}))
    profiler.conf.write_text(profiler.conf.read_text() + f'containers = {{ root = "{root}"; }};\n')
    profiler.stop()
    try:
        hanging = HangingFolder(root / STATE, "containers.json", b"[]", after).__enter__()
    except OSError as error:
        pytest.skip(f"no FUSE here: {error}")
    try:
        with in_a_group(f"stackprobe-e2e-{os.getpid()}/docker/{DOCKERS}", PROGRAMS / "spin", "600") as beside:
            profiler.start()
            answers(profiler, body(profiler, container_id=[one.id], container_name=["beside"]))
            other = podman.run("c", "/opt/c_spin", 600)
            answers(profiler, {"snoopers": {"container_id": [one.id, other.id], "container_name": ["beside"]}})
            wanted = {one.pid, other.pid, beside}
            wait_for(lambda: answers(profiler) or set(profiler.processes()) == wanted, 15, 0.2,
                     why=lambda: (wanted, profiler.processes()))  # fmt: skip
            wait_sampled(profiler, *wanted)
            status = wait_for(lambda: (told := profiler.config()["status"]["containers"])["given_up"] and told, 30)
            assert status["given_up"] == 1 and status["unnamed"] >= 2  # the other one isn't waited for, too
            assert told_of(profiler, one.pid) == ("", "", one.id, "")
            assert told_of(profiler, beside)[:3] == ("beside", "", DOCKERS)
            profile = profiler.folded()
            assert profile.containers(one.pid) == {(None, one.id[:12])}
            assert profile.containers(other.pid) == {(None, other.id[:12])}
            assert profile.containers(beside) == {(None, "beside")}
            profiler.stop()  # within 10 s, while it hangs
    finally:
        hanging.__exit__()
