"""Short functions that C calls, often: the interpreter's loop is entered for each call."""
import functools

NUMBERS = range(200)


def key(number):
    return -number


def add(left, right):
    return left + right


def next_one(number):
    return number + 1


def is_odd(number):
    return number & 1


def yielding(count):
    yield from range(count)


def by_sorted():
    return sorted(NUMBERS, key=key)


def by_map():
    return list(map(next_one, NUMBERS))


def by_filter():
    return list(filter(is_odd, NUMBERS))


def by_reduce():
    return functools.reduce(add, NUMBERS)


def by_sum():
    return sum(yielding(len(NUMBERS)))


def main():
    while True:
        by_sorted()
        by_map()
        by_filter()
        by_reduce()
        by_sum()


main()
