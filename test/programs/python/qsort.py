"""libc's qsort() with a comparison that is written in Python, called by ctypes; and sort(key=…)."""
import ctypes
import functools

import truth

COMPARISON = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
libc = ctypes.CDLL(None)
SIZE = 60


def work(number):
    for _ in range(20):
        number = (number * 31 + 7) % 1009
    return number


@COMPARISON
def compare(left, right):
    return work(left[0]) - work(right[0])


def sort_numbers():
    numbers = (ctypes.c_int * SIZE)(*[number * 7919 % SIZE for number in range(SIZE)])
    libc.qsort(numbers, SIZE, ctypes.sizeof(ctypes.c_int), compare)


def order(left, right):
    return work(left) - work(right)


def turn():
    sort_numbers()
    sorted(range(SIZE), key=lambda number: work(number))
    sorted(range(SIZE), key=functools.cmp_to_key(order))


truth.loop(turn)
