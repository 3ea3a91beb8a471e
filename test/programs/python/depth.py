"""depth.py DEPTH SECONDS: computes with so many frames of `descend`."""
import sys
import threading
import time

from standing import stand_by


def descend(depth, seconds):
    if depth > 1:
        return descend(depth - 1, seconds)
    end = time.monotonic() + seconds
    total = 0
    while time.monotonic() < end:
        for i in range(1000):
            total += i
    return total


def main():
    stand_by()
    descend(int(sys.argv[1]), float(sys.argv[2]))


sys.setrecursionlimit(100_000)
threading.stack_size(512 << 20)
one = threading.Thread(target=main)
one.start()
one.join()
stand_by({})
