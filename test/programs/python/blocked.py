"""blocked.py MODE [SECONDS]: threads that wait, each in its own function, its name and its thread's.

for	each for so many seconds; tells how long the calls took
ever	all of them block for good, before it says that it is ready
gil	one computes, one sleeps a little, and one has the GIL nearly all the time
"""
import ctypes
import os
import queue
import select
import signal
import socket
import sys
import threading
import time

from standing import named, stand_by

END = 0.0
TOLD = {}
EVER = sys.argv[1] == "ever"
STEP = 3600 if EVER else 0.02
gate, timed_gate = threading.Lock(), threading.Lock()
tasks, simple = queue.Queue(), queue.SimpleQueue()
near, far = socket.socketpair()
read_end, write_end = os.pipe()
select_end, select_write = os.pipe()
happened = threading.Event()


def waits(function):
    """Calls it until the end; what its calls took is told."""

    def run():
        total = times = 0
        while time.monotonic() < END:
            total += function()
            times += 1
        TOLD[function.__name__] = {"sum_ns": total, "calls": times}

    run.__name__ = function.__name__
    return run


def sleeper():
    began = time.monotonic_ns()
    time.sleep(STEP)  # AT sleeper
    return time.monotonic_ns() - began


def locker():
    began = time.monotonic_ns()
    gate.acquire()  # AT locker
    return time.monotonic_ns() - began


def timed():
    began = time.monotonic_ns()
    timed_gate.acquire(timeout=STEP)  # AT timed
    return time.monotonic_ns() - began


def getter():
    began = time.monotonic_ns()
    tasks.get()  # AT getter
    return time.monotonic_ns() - began


def simplest():
    began = time.monotonic_ns()
    simple.get()  # AT simplest
    return time.monotonic_ns() - began


def receiver():
    began = time.monotonic_ns()
    near.recv(1)  # AT receiver
    return time.monotonic_ns() - began


def reader():
    began = time.monotonic_ns()
    os.read(read_end, 1)  # AT reader
    return time.monotonic_ns() - began


def selector():
    began = time.monotonic_ns()
    select.select([select_end], [], [], STEP)  # AT selector
    return time.monotonic_ns() - began


def eventer():
    began = time.monotonic_ns()
    happened.wait(STEP)  # AT eventer
    return time.monotonic_ns() - began


WAITERS = (sleeper, locker, timed, getter, simplest, receiver, reader, selector, eventer)


def feeder():
    """Ends the waits of the others."""
    while time.monotonic() < END + 0.1:
        time.sleep(STEP)  # AT feeder
        if gate.locked():
            gate.release()
        tasks.put(1)
        simple.put(1)
        far.send(b"1")
        os.write(write_end, b"1")


def block():
    gate.acquire()
    timed_gate.acquire()
    threads = [named(waits(function)) for function in WAITERS]
    for thread in threads:
        thread.start()
    return threads


def for_a_while():
    global END
    stand_by()
    END = time.monotonic() + float(sys.argv[2])
    threads = block()
    helper = named(feeder)
    helper.start()
    for thread in threads:
        thread.join()  # AT for_a_while
    helper.join()  # AT helper
    stand_by(TOLD)


def for_ever():
    global END
    END = time.monotonic() + 3600
    block()
    print("{}", flush=True)
    signal.pause()  # AT for_ever


# The GIL


def holder():
    keeping = ctypes.PyDLL(None)
    while time.monotonic() < END:
        keeping.usleep(30_000)


def waiter():
    while time.monotonic() < END:
        time.sleep(0.001)  # AT waiter


def computer():
    while time.monotonic() < END:
        sum(i * i for i in range(1000))


def for_the_gil():
    global END
    stand_by()
    END = time.monotonic() + float(sys.argv[2])
    threads = [named(function) for function in (holder, waiter, computer)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stand_by({})


{"for": for_a_while, "ever": for_ever, "gil": for_the_gil}[sys.argv[1]]()
