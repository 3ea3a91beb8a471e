"""net, view=wait: the time in poll, select and epoll, by what is waited for."""
import platform

import pytest

from helpers import wait_for
from sockets import Scene

# Each wait is timed from outside; it ends by its time-out, 20 ms, by which what it takes is bounded from below.
WAITS = """
import fcntl, termios
near, far = socket.socketpair()
out, into = os.pipe()
master, slave = os.openpty()
event = os.eventfd(0)
many = [os.dup(far.fileno()) for _ in range(40)]
high = fcntl.fcntl(out, fcntl.F_DUPFD, 200)
instance = select.epoll()
instance.register(far, select.EPOLLIN)

def polls(*fds):
    poll = select.poll()
    for fd in fds: poll.register(fd, select.POLLIN)
    return poll.poll(20)

def selects(*fds):
    return select.select([fd for fd in fds if fd != master], [], [fd for fd in fds if fd == master], 0.02)

WAITS = {waits}

def timed(waits, *args):
    began = time.monotonic_ns()
    waits(*args)
    return (time.monotonic_ns() - began) / 1000

def act():
    return [sum(timed(*WAITS[i]) for _ in range(3)) for i in range(len(WAITS))], instance.fileno()
"""

CASES = {
    "sockets": ("polls, far", "[poll: sockets]"),
    "kinds": ("polls, far, out, slave, event", "[poll: sockets, pipes, ttys, others]"),
    "many": ("polls, event, *many", "[poll: sockets, others, more]"),
    "none": ("polls,", "[poll: no descriptors]"),
    "select": ("selects, far, high", "[select: sockets, pipes]"),
    "except": ("selects, out, master", "[select: pipes, ttys]"),
    "sleep": ("selects,", "[select: no descriptors]"),
    "epoll": ("instance.poll, 0.02", "[epoll: fd {}]"),
}


def waiting(profiler, start, waits, **params):
    scene = Scene(profiler, start, WAITS.format(waits=f"[{''.join(f'({wait}), ' for wait in waits)}]"), **params)
    return scene, *scene.act()


def leaves(scene, **query):
    return {leaf[-1]: weight for leaf, weight in scene.weights("act", view="wait", **query).items()}


@pytest.mark.parametrize("case", CASES)
def test_a_wait_is_as_long_as_it_was_and_under_what_is_waited_for(profiler, start, case):
    wait, leaf = CASES[case]
    scene, (took_us,), instance = waiting(profiler, start, [wait], net_wait=1)
    found = leaves(scene)
    leaf = leaf.format(instance)
    assert set(found) == {leaf}
    assert 3 * 20_000 <= found[leaf] <= took_us + 1, (found, took_us)
    assert leaves(scene, value="count") == {leaf: 3}
    assert scene.lost() == {}


# Each system call that waits, by its number on x86-64; 20 ms.
NUMBERS = {
    "poll": ("7, fds, 1, 20", "[poll: sockets]"),
    "ppoll": ("271, fds, 1, ns, None, 8", "[poll: sockets]"),
    "select": ("23, 64, bits, None, None, us", "[select: sockets]"),
    "pselect6": ("270, 64, None, bits_of(out), bits, ns, None", "[select: sockets, pipes]"),
    "epoll_wait": ("232, instance.fileno(), events, 8, 20", "[epoll: fd {}]"),
    "epoll_pwait": ("281, instance.fileno(), events, 8, 20, None, 8", "[epoll: fd {}]"),
    "epoll_pwait2": ("441, instance.fileno(), events, 8, ns, None, 8", "[epoll: fd {}]"),
}
BY_NUMBER = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
fds = ctypes.create_string_buffer(struct.pack("iHH", far.fileno(), select.POLLIN, 0))
bits_of = lambda fd: ctypes.create_string_buffer((1 << fd).to_bytes(128, "little"), 128)
events = ctypes.create_string_buffer(12 * 8)

def calls(): # the kernel writes into its arguments
    bits = bits_of(far.fileno())
    us, ns = (ctypes.create_string_buffer(struct.pack("qq", 0, part * 20)) for part in (1000, 1000000))
    assert libc.syscall({call}) == 0, ctypes.get_errno()

def act():
    return [sum(timed(calls) for _ in range(3))], instance.fileno()
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86-64")
@pytest.mark.parametrize("call", NUMBERS)
def test_each_call_that_waits_is_seen(profiler, start, call):
    how, leaf = NUMBERS[call]
    scene = Scene(profiler, start, WAITS.format(waits="[]") + BY_NUMBER.format(call=how), net_wait=1)
    (took_us,), instance = scene.act()
    found, leaf = leaves(scene), leaf.format(instance)
    assert set(found) == {leaf}
    assert 3 * 20_000 <= found[leaf] <= took_us + 1, (found, took_us)
    assert leaves(scene, value="count") == {leaf: 3}


INTERRUPTED = """
def ends(_signal, _frame):
    raise TimeoutError

def act():
    signal.signal(signal.SIGALRM, ends)
    signal.setitimer(signal.ITIMER_REAL, 1)
    try:
        timed(select.poll().poll, 60000)
    except TimeoutError:
        return True
"""


def test_a_wait_that_a_signal_ends_counts_as_long_as_it_was(profiler, start):
    scene = Scene(profiler, start, WAITS.format(waits="[]") + INTERRUPTED, net_wait=1)
    assert scene.act()
    assert leaves(scene, value="count") == {"[poll: no descriptors]": 1}
    assert leaves(scene)["[poll: no descriptors]"] > 0


def test_each_kind_stands_apart(profiler, start):
    scene, took_us, instance = waiting(profiler, start, [wait for wait, _ in CASES.values()], net_wait=1)
    assert leaves(scene, value="count") == {leaf.format(instance): 3 for _, leaf in CASES.values()}
    assert sum(leaves(scene).values()) <= sum(took_us) + len(CASES)


def test_waits_are_counted_if_they_are_asked_for_alone(profiler, start):
    scene, *_ = waiting(profiler, start, [CASES["sockets"][0]])
    assert leaves(scene) == {}
    assert scene.weights("act") == {}, "no bytes"


def test_they_can_be_asked_for_while_it_runs(profiler, start):
    scene = Scene(profiler, start, WAITS.format(waits="[(polls, far)]") + "later = [act] * 1000\n")

    def more(wanted=None):
        """What an act adds; where the PUT wants something else, of that."""
        if wanted is not None:
            profiler.put_ok(profiler.wanting(pids=[scene.target.pid], probes=("net",), net_wait=wanted,
                                             frame_detail="name", max_overhead=0))  # fmt: skip
        before = leaves(scene, value="count").get("[poll: sockets]", 0)
        scene.act()
        return leaves(scene, value="count").get("[poll: sockets]", 0) - before

    assert more() == 0
    more(wanted=1)
    wait_for(lambda: more() == 3, why="waits are counted")
    more(wanted=0)
    wait_for(lambda: more() == 0, why="waits are not counted any more")
