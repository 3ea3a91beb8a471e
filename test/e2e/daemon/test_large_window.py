"""A window of very many stacks: others are answered while it is read, and nothing of it is lost."""
import threading

import pytest

from allocating import wait_armed
from folded import Profile
from helpers import Daemon, lost
from waiting import answer, let_go, ready

STACKS = 60_000
BITS = 17  # turns that a stack of `branches` takes


@pytest.fixture
def roomy(needs_bpf, work):
    """A daemon with room for such a window."""
    daemon = Daemon(work)
    with daemon.conf.open("a") as conf:
        conf.write("bpf = { stacks = 262144; stack_ring_bytes = 8388608; };\n")
    yield daemon.start()
    daemon.done()


def test_others_are_answered_while_a_large_window_is_read(roomy, start):
    """Not how soon: that many are, one after the other, says that no step of it is a long one."""
    target = ready(start, "branches", STACKS, 0, "faults")
    roomy.put_ok(roomy.wanting(pids=[target.pid], probes=("mem",), mem_fault_bytes=0, max_overhead=0, thread_frame=0))
    wait_armed(roomy, ("mem",))
    roomy.folded("mem")  # a window begins
    let_go(target)
    answer(target)
    got = []
    asking = threading.Thread(target=lambda: got.append(roomy.get("/flamegraph/mem.folded", timeout=60)))
    asking.start()
    answers = 0
    while asking.is_alive():
        assert roomy.get("/healthz").status == 200
        answers += 1
    asking.join()
    assert got[0].status == 200, got[0].text
    assert lost(roomy.probe("mem")) == 0
    turns = [[frame for frame in stack.frames if frame in ("left", "right")] for stack in Profile(got[0].text).stacks]
    assert len({tuple(way) for way in turns if len(way) == BITS}) == STACKS, "each stack is there"
    assert answers > 8, f"{answers} answers while the window was read"
