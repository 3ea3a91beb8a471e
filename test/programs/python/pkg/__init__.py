"""A package, run by `python -m pkg` and `python -m pkg.inner.run`."""


def shared(number):
    for _ in range(3000):
        number = (number * 31 + 7) % 1009
    return number
