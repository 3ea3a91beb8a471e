"""Python that is called by native code: a builtin, a library of C by ctypes, and itself."""
import ctypes

SIZE = 40
COMPARISON = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
libc = ctypes.CDLL(None)


def work(number):
    for _ in range(60):
        number = (number * 31 + 7) % 1009
    return number


class Sorter:
    def key(self, number):
        return work(number)

    def run(self):
        return sorted(range(SIZE), key=self.key)


@COMPARISON
def compare(left, right):
    return work(left[0]) - work(right[0])


def by_libc():
    numbers = (ctypes.c_int * SIZE)(*range(SIZE))
    libc.qsort(numbers, SIZE, ctypes.sizeof(ctypes.c_int), compare)


def recursive(depth):
    return recursive(depth - 1) if depth else work(depth)


def main():
    sorter = Sorter()
    while True:
        sorter.run()
        by_libc()
        for _ in range(10):
            recursive(5)


main()
