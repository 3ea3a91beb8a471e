"""multiprocessing: two children, made in the way that the second argument names. Each tells its own."""
import multiprocessing
import sys

import truth


def work(number):
    for _ in range(3000):
        number = (number * 31 + 7) % 1009
    return number


def child():
    truth.forget()
    truth.loop(child_turn)


def child_turn():
    work(2)
    sum(work(number) for number in range(2))


def turn():
    work(1)


if __name__ == "__main__":
    how = multiprocessing.get_context(sys.argv[2])
    for _ in range(2):
        how.Process(target=child, daemon=True).start()
    truth.loop(turn)
