"""foreign.py LIBRARY SECONDS: threads that C code has made.

lone	burns in C alone: it has no state of Python
caller	calls a function of Python, over and over; its state is made and thrown away each time
native	the main thread's: C code that calls Python back
"""
import ctypes
import sys
import time

from standing import stand_by

LIBRARY = ctypes.CDLL(sys.argv[1])
BACK = ctypes.CFUNCTYPE(None)


def burn(seconds):
    end = time.monotonic() + seconds
    total = 0
    while time.monotonic() < end:
        for i in range(100):
            total += i
    return total


def called_back():
    burn(0.004)  # AT called_back


def called_inside():
    burn(0.004)  # AT called_inside


def main():
    from_thread, inside = BACK(called_back), BACK(called_inside)
    stand_by()
    milliseconds = int(1000 * float(sys.argv[2]))
    LIBRARY.start_lone(milliseconds)
    LIBRARY.start_caller(from_thread, milliseconds)
    LIBRARY.call_back(inside, milliseconds)  # AT main
    LIBRARY.join_both()
    stand_by({})


main()
