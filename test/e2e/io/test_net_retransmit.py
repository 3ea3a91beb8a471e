"""net: what TCP sends again is counted for who sent last, as much as the socket says. A network namespace
of the test's own drops segments at random moments (its filter's statistic) or each one.

TCP sends again in an interrupt. If that interrupts a process which the kernel guards, it runs no BPF program: the
kernel's own trace tells how often that was (`again.missed()`), and so many may be missing."""
import re
import shutil

import pytest

from helpers import wait_for
from kernel_trace import KernelTrace, guarded
from sockets import Scene

RETRANSMITTED = ("[retransmit]",)
LARGEST = 65536  # bytes of a segment
TRACED = re.compile(r"-(?P<pid>\d+) +\[.*: tcp_retransmit_skb: ")
# The rule drops what arrives for the server, so the sender learns nothing of it.
NETWORK = """
import subprocess
def run(*words): subprocess.run(words, check=True)
def rule(do, *how): run("iptables", do, "INPUT", "-p", "tcp", "--dport", str(port), *how, "-j", "DROP")
SOME = ["-m", "statistic", "--mode", "nth", "--every", "3", "--packet", "0"]
run("ip", "link", "set", "lo", "up")
server, name = listening()
port = name[1]

def settled(sock):
    while info(sock)["unacked"]: time.sleep(0.01)
    return info(sock)
"""


class Again(KernelTrace):
    """What any TCP of this machine sends again."""

    def __init__(self, work):
        super().__init__(work, ["tcp/tcp_retransmit_skb"])

    def missed(self):
        return len(guarded(TRACED.finditer(self.text())))


@pytest.fixture
def again(work):
    with Again(work) as trace:
        yield trace


@pytest.fixture
def scene(profiler, start):
    """scene(text, …): a Scene in a network namespace of its own."""
    for tool in ("unshare", "ip", "iptables"):
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")

    def make(text, **params):
        made = Scene(profiler, start, NETWORK + text, before=("/usr/bin/unshare", "-n"), **params)
        unseen = profiler.probe("net")["unseen"]
        if "sent again are not seen" in unseen:
            pytest.skip(unseen)
        return made

    return make


def retransmitted(scene, function=None):
    """Bytes and segments."""
    return [scene.weights(function, **asked).get(RETRANSMITTED, 0) for asked in ({}, {"value": "count"})]


def assert_retransmitted(found, bytes_known, segments_known, missed):
    """All but those that no program can have seen."""
    found_bytes, segments = found
    assert segments_known - missed <= segments <= segments_known
    if segments == segments_known:
        assert found_bytes == bytes_known
    assert bytes_known - LARGEST * (segments_known - segments) <= found_bytes <= bytes_known


LOSSY = """
near = socket.create_connection(name)
far = server.accept()[0]
near.sendall(bytes(10))
rule("-A", *SOME)

def gives():
    for _ in range(40): near.sendall(bytes(5000))

def act():
    other = threading.Thread(target=receive_all, args=(far, 40 * 5000 + 10))
    other.start()
    gives()
    other.join()
    return [settled(near), info(far)]
"""


@pytest.mark.quick
def test_a_segment_that_is_sent_again_has_its_senders_stack(scene, again):
    seen = scene(LOSSY)
    near, far = seen.act()
    assert near["total_retrans"] > 0 and near["bytes_retrans"] > 0, "some were dropped"
    found = retransmitted(seen, "gives")
    assert_retransmitted(found, near["bytes_retrans"], near["total_retrans"], again.missed())
    assert retransmitted(seen) == found
    assert seen.weights("gives")["[send]", "[tcp]"] == near["bytes_sent"] - near["bytes_retrans"] - 10 == 40 * 5000
    assert seen.weights("receive_all")["[receive]", "[tcp]"] == far["bytes_received"]
    assert seen.lost() == {}


FIRST = """
near = socket.create_connection(name)
far = server.accept()[0]
port = near.getsockname()[1]
rule("-A", *SOME)

def answers():
    far.sendall(bytes(3000000))

def act():
    other = threading.Thread(target=receive_all, args=(near, 3000000))
    other.start()
    answers()
    other.join()
    return settled(far)
"""


def test_the_first_send_of_an_accepted_connection_as_well(scene, profiler, again):
    seen = scene(FIRST)
    if profiler.probe("net")["unseen"]:
        pytest.skip(profiler.probe("net")["unseen"])
    truth = seen.act()
    assert truth["total_retrans"] > 0
    assert_retransmitted(retransmitted(seen, "answers"), truth["bytes_retrans"], truth["total_retrans"], again.missed())
    assert seen.lost() == {}


CONNECT = """
rule("-A")
near = socket.socket()
near.setblocking(False)

def connects():
    near.connect_ex(name)

def act():
    connects()
    while info(near)["total_retrans"] < 2: time.sleep(0.01)
    rule("-D")
    server.accept()
    select.select([], [near], [])
    return info(near)
"""


def test_so_has_the_begin_of_a_connection(scene, again):
    seen = scene(CONNECT)
    truth = seen.act()
    assert truth["total_retrans"] >= 2 and truth["bytes_retrans"] == 0
    assert_retransmitted(retransmitted(seen, "connects"), 0, truth["total_retrans"], again.missed())
    assert seen.lost() == {}


LATER = """
near = socket.create_connection(name)
far = server.accept()[0]
rule("-A")

def gives():
    near.sendall(bytes(100))

def act():
    gives()
    return 0

def after():
    rule("-D")
    return settled(near)

def again():
    before = info(near)["total_retrans"]
    while info(near)["total_retrans"] == before: time.sleep(0.01)
    return 0

later = {later}
"""


def test_in_each_of_several_windows_it_has_its_senders_stack(scene, again):
    seen = scene(LATER.replace("{later}", "[again, again, again, after]"))
    seen.act()
    for _ in range(3):
        assert seen.weights("gives")["[send]", "[tcp]"] == 100  # a look ends a window
        seen.act()
    seen.weights()
    truth = seen.act()
    assert truth["total_retrans"] >= 4
    found, lost = retransmitted(seen, "gives"), seen.lost()
    if again.missed():  # then the stack may not be known any more
        known = found[1] + lost.pop("stack_missing", 0)
        assert truth["total_retrans"] - again.missed() <= known <= truth["total_retrans"]
    else:
        assert found == [truth["bytes_retrans"], truth["total_retrans"]]
    assert lost == {}


def test_what_is_sent_again_in_a_later_window_is_there_or_counted_as_lost(scene, again):
    seen = scene(LATER.replace("{later}", "[after]"))
    seen.act()
    # Each look ends a window: of those between two timers of TCP some are too many for the stack to be known still.
    wait_for(lambda: seen.weights() and seen.lost().get("stack_missing", 0) > 1, why=seen.weights)
    truth = seen.act()
    shown, segments = retransmitted(seen, "gives")
    told = segments + seen.lost()["stack_missing"]
    assert truth["total_retrans"] - again.missed() <= told <= truth["total_retrans"]
    assert shown == 100 * segments
    assert set(seen.lost()) == {"stack_missing"}
