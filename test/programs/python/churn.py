"""A stack that changes all the time: short functions that call each other, five levels, at random."""
import itertools
import random

import truth

truth.TURNS = 40000
random.seed(8)
step = itertools.cycle([random.randrange(4) for _ in range(99991)]).__next__


def up(levels):
    if levels:
        choice = step()
        if choice == 0:
            up(levels - 1)
        elif choice == 1:
            down(levels - 1)
        elif choice == 2:
            side(levels - 1)


def down(levels):
    if levels:
        choice = step()
        if choice == 0:
            side(levels - 1)
        elif choice == 1:
            next(turning(levels - 1))
        elif choice == 2:
            Thing().method(levels - 1)


def side(levels):
    if levels:
        up(levels - 1)
        if step():
            down(levels - 1)


def turning(levels):
    side(levels)
    yield


class Thing:
    def method(self, levels):
        if levels:
            up(levels - 1)


def turn():
    up(5)


truth.loop(turn)
