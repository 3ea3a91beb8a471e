"""Recursion, as deep as the second argument says, with work at its end."""
import sys

import truth

DEPTH = int(sys.argv[2])


def bottom():
    total = 0
    for number in range(20000):
        total += number * number
    return total


def deep(levels):
    if levels > 1:
        return deep(levels - 1) + 1
    return bottom()


def turn():
    deep(DEPTH)


sys.setrecursionlimit(DEPTH + 200)
truth.loop(turn)
