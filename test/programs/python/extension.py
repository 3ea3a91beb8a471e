"""A C extension that calls back, straight, through C's recursion, and from where the GIL is released.
The second argument is the folder in which callback.so lies."""
import sys

import truth

sys.path.insert(1, sys.argv[2])

import callback  # noqa: E402


def work(number):
    for _ in range(200):
        number = (number * 31 + 7) % 1009
    return number


def back():
    work(1)
    callback.burn(2000)


def again():
    callback.call(back, 3)


def turn():
    callback.call(back, 1)
    callback.call(again, 2)
    callback.released(back)


truth.loop(turn)
