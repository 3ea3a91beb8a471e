"""pauses.py SECONDS: its longest pauses by its clock, in `turns` functions of changing depth: while
nobody looks and, when it has been let go again, while somebody does."""
import sys
import time

from standing import stand_by


def turn(depth):
    if depth:
        return turn(depth - 1)
    return time.monotonic_ns()


def longest(seconds):
    end = time.monotonic() + seconds
    last, worst, turns = time.monotonic_ns(), [], 0
    while time.monotonic() < end:
        now = turn(turns % 50)
        worst.append(now - last)
        last = now
        turns += 1
        if len(worst) > 1000:
            worst = sorted(worst)[-5:]
    return sorted(worst)[-5:]


before = longest(float(sys.argv[1]))
stand_by()
stand_by({"before": before, "while": longest(float(sys.argv[1]))})
