"""Generators: consumed by a loop, by C code, by each other, sent to, thrown into, and expressions."""
import truth


def numbers(count):
    for number in range(count):
        yield work(number)


def work(number):
    for _ in range(50):
        number = (number * 31 + 7) % 1009
    return number


def doubled(source):
    for number in source:
        yield number + work(number)


def delegating(count):
    got = yield from doubled(numbers(count))
    return got


def coroutine():
    got = 0
    while True:
        try:
            got = work((yield got) or 1)
        except ValueError:
            got = work(2)


def turn():
    for number in delegating(40):
        work(number)
    sum(doubled(numbers(40)))
    sum(work(number) for number in numbers(40))
    running = coroutine()
    next(running)
    for number in range(40):
        running.send(number)
        running.throw(ValueError())


truth.loop(turn)
