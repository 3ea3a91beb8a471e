"""What classes.py runs: functions of all kinds, in a module whose own code is gone once it is imported."""
import dataclasses
import functools


def logged(function):
    @functools.wraps(function)
    def wrapper(*args):
        sum(range(10000))  # IS logged.<locals>.wrapper
        return function(*args)

    return wrapper


def bare(function):
    def inside(*args):
        sum(range(10000))  # IS bare.<locals>.inside
        return function(*args)

    return inside


class Base:
    def inherited(self):
        sum(range(30000))  # IS Base.inherited

    def replaced(self):
        sum(range(30000))  # IS Base.replaced


class Orders(Base):
    class Item:
        def price(self):
            sum(range(30000))  # IS Orders.Item.price

    def make(self):
        sum(range(30000))  # IS Orders.make

    def replaced(self):
        sum(range(30000))  # IS Orders.replaced
        super().replaced()

    @staticmethod
    def still():
        sum(range(30000))  # IS Orders.still

    @classmethod
    def classy(cls):
        sum(range(30000))  # IS Orders.classy

    @property
    def worth(self):
        sum(range(30000))  # IS Orders.worth

    @logged
    def decorated(self):
        sum(range(30000))  # IS Orders.decorated

    @bare
    def barely(self):
        sum(range(30000))  # IS Orders.barely

    def nested(self):
        def inner():
            sum(range(30000))  # IS Orders.nested.<locals>.inner

        inner()
        work = (lambda:
                sum(range(30000)))  # IS Orders.nested.<locals>.<lambda>
        work()

    def cached(self):
        self.of_number.cache_clear()
        self.of_number(1)

    @functools.lru_cache(maxsize=None)
    def of_number(self, number):
        sum(range(30000))  # IS Orders.of_number

    def ghost(self):
        sum(range(30000))  # WAS Orders.ghost


class Special(Orders):
    pass


@dataclasses.dataclass
class Point:
    x: int

    def far(self):
        sum(range(30000))  # IS Point.far


def find():
    sum(range(30000))  # IS find


def local():
    class Local:
        def run(self):
            sum(range(30000))  # IS local.<locals>.Local.run

    Local().run()
