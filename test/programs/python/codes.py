"""codes.py MODE SECONDS: functions that are new each time, and do nothing but compute.

made	made_N in the file made_N.py, called once from that file's module, and thrown away
stopped	fresh_N for a fifth of a second each; then the process stops itself
"""
import itertools
import sys
import time

from standing import stand_by

MADE = """
def made_{n}(end):
    total = 0
    for i in range(3000):
        total += i
    return total

made_{n}(0)
"""

FRESH = """
def fresh_{n}():
    end = clock() + 0.2
    while clock() < end:
        for i in range(1000):
            pass

fresh_{n}()
"""


def made():
    end = time.monotonic() + float(sys.argv[2])
    for number in itertools.count():
        if time.monotonic() > end:
            return number
        exec(compile(MADE.format(n=number), f"made_{number}.py", "exec"), {})


def stopped():
    for number in range(int(sys.argv[2])):
        exec(compile(FRESH.format(n=number), f"fresh_{number}.py", "exec"), {"clock": time.monotonic})
        stand_by({"fresh": number})
    return int(sys.argv[2])


stand_by()
stand_by({"made": {"made": made, "stopped": stopped}[sys.argv[1]]()})
