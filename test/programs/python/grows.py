"""grows.py PROGRAMS: memory, each kind in a function of its own. Tells what resident memory grew by
there, and for the C library's what was asked for."""
import ctypes
import sys

from standing import LIBC, resident, stand_by

KEPT = []
MIB = 1 << 20
LIBC.malloc.restype = ctypes.c_void_p
LIBC.malloc.argtypes = [ctypes.c_size_t]


def arrays():
    for _ in range(16):
        KEPT.append(bytearray(b"x") * MIB)  # AT arrays


def extended():
    grown = bytearray()
    KEPT.append(grown)
    piece = bytes(4096)
    for _ in range(4096):
        grown.extend(piece)  # AT extended


def objects():
    kept = []
    KEPT.append(kept)
    for number in range(300_000):  # AT numbers
        kept.append((number, number))  # AT objects


class Deep:
    def below(self, depth):
        if depth:
            return self.below(depth - 1)
        KEPT.append(bytearray(b"y") * (8 * MIB))  # AT below
        return None


def methods():
    Deep().below(10)  # AT methods


def library():
    """What is asked of malloc itself."""
    for _ in range(1000):
        KEPT.append(LIBC.malloc(5000))  # AT library
    return 1000, 5000 * 1000


def large():
    """Objects that the interpreter takes from malloc: larger than 512 bytes."""
    for _ in range(500):
        KEPT.append(b"z" * 20_000)  # AT large
    return 500, 500 * sys.getsizeof(KEPT[-1])


def main():
    told = {}
    stand_by()
    for function in (arrays, extended, objects, methods, library, large):
        before = resident()
        asked = function()
        told[function.__name__] = {"grown": resident() - before, "asked": asked}
    stand_by(told)


main()
