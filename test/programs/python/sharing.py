"""sharing.py MODE SECONDS: threads, each in a function of its name. Each tells its own CPU time.

fight	four that compute, for one GIL
release	three in C code that has released it
mixed	four: one computes, one compresses, one hashes, one sleeps and wakes
"""
import hashlib
import os
import sys
import threading
import time
import zlib

from standing import name_thread, stand_by, thread_ns

TOLD = {}
DATA = os.urandom(1 << 19) + bytes(1 << 19)


def compute():
    total = 0
    for i in range(2000):
        total += i * i
    return total


def press():
    return zlib.compress(DATA, 6)


def digest():
    return hashlib.sha256(DATA).digest()


def check():
    return zlib.crc32(DATA)


def doze():
    time.sleep(0.002)
    return compute()


def first(end):
    while time.monotonic() < end:
        WORK["first"]()


def second(end):
    while time.monotonic() < end:
        WORK["second"]()


def third(end):
    while time.monotonic() < end:
        WORK["third"]()


def fourth(end):
    while time.monotonic() < end:
        WORK["fourth"]()


KINDS = {
    "fight": (compute,) * 4,
    "release": (press, digest, check),
    "mixed": (compute, press, digest, doze),
}
LOOPS = (first, second, third, fourth)
WORK = {loop.__name__: work for loop, work in zip(LOOPS, KINDS[sys.argv[1]])}


def thread(loop, end):
    name_thread(loop.__name__)
    began = thread_ns()
    loop(end)
    TOLD[loop.__name__] = thread_ns() - began


def main():
    stand_by()
    end = time.monotonic() + float(sys.argv[2])
    threads = [threading.Thread(target=thread, args=(loop, end)) for loop in LOOPS[: len(WORK)]]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    stand_by(TOLD)


main()
