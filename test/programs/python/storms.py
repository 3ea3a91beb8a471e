"""storms.py MODE TIMES: processes that come and go.

exec	the same process, over and over; each computes in `again` first
fork	children that compute in `child_work`, four at a time, and end without a word
"""
import os
import sys
import time

from standing import stand_by


def compute(seconds):
    end = time.process_time() + seconds
    total = 0
    while time.process_time() < end:
        for i in range(1000):
            total += i
    return total


def again():
    compute(0.02)


def child_work():
    compute(0.03)


def execs(times):
    again()
    if times:
        os.execv(sys.executable, [sys.executable, sys.argv[0], "exec", str(times - 1)])
    stand_by({})


def forks(times):
    stand_by()
    running = 0
    for _ in range(times):
        if running == 4:
            os.wait()
            running -= 1
        if not os.fork():
            child_work()
            os._exit(0)
        running += 1
    while running:
        os.wait()
        running -= 1
    stand_by({})


{"exec": execs, "fork": forks}[sys.argv[1]](int(sys.argv[2]))
