"""Four threads that want the GIL, and the main thread, which waits for them."""
import truth


def burn(amount):
    total = 0
    for number in range(amount):
        total ^= number
    return total


def first():
    burn(3000)


def second():
    burn(5000)


def inner():
    burn(4000)


def third():
    inner()


def fourth():
    for _ in range(3):
        inner()


truth.loop_in_threads(first, second, third, fourth)
