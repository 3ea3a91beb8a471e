"""seldom.py COUNT: waits of 15 ms (seldom), each after 200 of 0.1 ms (often). It tells how long the
longer ones took by its clock."""
import sys
import time

from standing import stand_by


def often():
    time.sleep(0.0001)


def seldom():
    before = time.monotonic_ns()
    time.sleep(0.015)
    return time.monotonic_ns() - before


stand_by()
took = 0
for _ in range(int(sys.argv[1])):
    for _ in range(200):
        often()
    took += seldom()
stand_by({"sum_ns": took})
