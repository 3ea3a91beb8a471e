"""BPF objects are loaded beside the loop: others are answered meanwhile, and nothing stays that nobody uses."""
import threading

import pytest

from bpf_objects import held
from helpers import wait_for

EVERY = ("oncpu", "offcpu", "mem", "mem_glibc")
AT_LEAST = 5  # answers while a request is under way; a loop that is busy with it gives one or two


class Asking(threading.Thread):
    """A request on a connection of its own."""

    def __init__(self, request):
        super().__init__()
        self.request, self.answer = request, None
        self.start()

    def run(self):
        self.answer = self.request()


def assert_others_are_answered(daemon, request, before_it=lambda: None):
    """/healthz is, while the request is under way, which is answered with 200. The test itself may have no CPU
    meanwhile: then it is asked again."""
    counts = []
    for _ in range(5):
        before_it()
        wait_for(lambda: not held(daemon.pid, "prog"), why="nothing is loaded")
        asking, count = Asking(request), 0
        while asking.is_alive():
            assert daemon.get("/healthz").status == 200
            count += 1
        asking.join()
        assert asking.answer.status == 200, asking.answer.text
        counts.append(count)
        if count >= AT_LEAST:
            return
    pytest.fail(f"answers meanwhile: {counts}")


@pytest.mark.quick
def test_others_are_answered_while_a_put_loads(daemon, start):
    target = start("spin", 60)
    body = daemon.wanting(pids=[target.pid], probes=EVERY)
    stop = b'{"state": "stopped"}'
    assert_others_are_answered(daemon, lambda: daemon.put(body), lambda: daemon.put(stop))
    for probe in EVERY:
        daemon.wait_running(probe)


def test_others_are_answered_while_a_session_of_seconds_begins(daemon, start):
    target = start("spin", 60)
    path = f"/flamegraph/offcpu.folded?seconds=1&pid={target.pid}"
    assert_others_are_answered(daemon, lambda: daemon.get(path))
    wait_for(lambda: not held(daemon.pid, "prog"), why="all is unloaded")


def test_the_scheduler_as_well(daemon):
    assert_others_are_answered(daemon, lambda: daemon.get("/sched/runqlat.txt?seconds=1"))


def test_puts_at_the_same_time_are_all_taken(daemon, start):
    target = start("spin", 60)
    bodies = [daemon.wanting(pids=[target.pid], probes=EVERY[: i + 1]) for i in range(4)]
    puts = [Asking(lambda body=body: daemon.put(body)) for body in bodies]
    for put in puts:
        put.join()
        assert put.answer.status == 200, put.answer.text
    last = daemon.config()["cmd"]["probe"]
    assert last in [body["cmd"]["probe"] for body in bodies]
    for probe in last:
        daemon.wait_running(probe)
    daemon.put_ok({"state": "stopped"})
    wait_for(lambda: not held(daemon.pid, "prog"), why="all is unloaded")


def test_what_was_loaded_for_nothing_is_unloaded(daemon):
    """A session that can't begin: its process doesn't exist."""
    assert daemon.get("/flamegraph/oncpu.folded?seconds=1&pid=4194304").status == 404
    wait_for(lambda: not held(daemon.pid, "prog"), why="all is unloaded")


def test_a_stop_while_objects_are_loaded(daemon, start):
    """One session's objects are loaded while another one, whose maps they share, ends."""
    target = start("spin", 60)
    daemon.profile(pids=[target.pid])
    session = Asking(lambda: daemon.get(f"/flamegraph/mem.folded?seconds=1&pid={target.pid}"))
    daemon.put_ok({"state": "stopped"})
    session.join()
    assert session.answer.status == 200, session.answer.text
    wait_for(lambda: not held(daemon.pid, "prog"), why="all is unloaded")
    assert "error" not in daemon.log
