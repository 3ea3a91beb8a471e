"""A random walk through a tree of functions, of which each name and line tells its whole path:
n_0213 was called by n_021, that by n_02. So each sample can be judged by itself. Each function writes its
own number to a shared page before each step; the time below each of the four branches is counted.

Function NUMBER of n (from the root by levels) has the lines from NUMBER * LINES + 1 on of <walk>.
"""
import itertools
import random
from time import thread_time

import truth

DEPTH, WIDTH, LINES = 6, 4, 16
truth.TURNS = 1
truth.extra["walk"] = {"depth": DEPTH, "width": WIDTH, "lines": LINES}
clocks = truth.clocks(*("n_%d" % branch for branch in range(WIDTH)), "page")


def source(path, number):
    """Its first line is the def, the call of child k is 4 + 2 * k lines below."""
    text = ["def n_%s(step, page):" % path, " while 1:", "  page[4] = %d; go = step()" % number]
    if len(path) < DEPTH:
        for child in range(WIDTH):
            text += ["  %s go == %d:" % ("elif" if child else "if", child),
                     "   n_%s%d(step, page)" % (path, child)]
        text += ["  else:", "   return"]
    else:
        text += ["  if go > 1:", "   return"]
    return text + [""] * (LINES - len(text))


def program():
    lines, number = [], 0
    for length in range(DEPTH + 1):
        for path in itertools.product("0123"[:WIDTH], repeat=length):
            lines += source("".join(path), number)
            number += 1
    return "\n".join(lines)


functions = {}
exec(compile(program(), "<walk>", "exec"), functions)
random.seed(8)
# A step down (0 to 3), or back.
step = itertools.cycle(random.choices(range(5), weights=(9, 9, 9, 9, 30), k=99991)).__next__
# The branches have 4, 3, 2 and 1 tenths of the turns.
branch = itertools.cycle(random.choices(range(4), weights=(4, 3, 2, 1), k=9973)).__next__


def turn():
    for _ in range(200):
        which = branch()
        began = thread_time()
        functions["n_%d" % which](step, clocks)
        clocks[which] += thread_time() - began


truth.loop(turn)
