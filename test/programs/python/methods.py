"""Methods, closures, properties, decorators, class and static methods, special methods, comprehensions."""
import functools

import truth


def work(number):
    for _ in range(400):
        number = (number * 31 + 7) % 1009
    return number


class Base:
    def method(self, number):
        return work(number)

    @classmethod
    def of_class(cls, number):
        return work(number)

    @staticmethod
    def static(number):
        return work(number)

    @property
    def shown(self):
        return work(3)

    def __getitem__(self, number):
        return work(number)

    def __eq__(self, other):
        return work(1) == work(2)

    class Inner:
        def __call__(self, number):
            return work(number)


class Derived(Base):
    def method(self, number):
        return super().method(number) + 1

    def __getattr__(self, name):
        return work(len(name))


def closing(number):
    def closed(other):
        return work(number + other)

    return closed


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


@decorated
def wrapped(number):
    return work(number)


def turn():
    thing = Derived()
    thing.method(1)
    Derived.of_class(2)
    Derived.static(3)
    thing.shown
    thing[4]
    thing == 5
    thing.absent
    Base.Inner()(6)
    closing(7)(8)
    wrapped(number=9)
    [work(number) for number in range(5)]
    {work(number): 1 for number in range(5)}
    list(map(lambda number: work(number), range(5)))
    functools.partial(work, 10)()


truth.loop(turn)
