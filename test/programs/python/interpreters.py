"""interpreters.py MODE SECONDS: sub-interpreters that compute.

nested	inside the main one's function, in its thread, and another one inside that
beside	two, each in a thread of its own, which has the function's name
"""
import sys
import threading

from standing import name_thread, stand_by

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

INNER = """
import time

def {name}(end):
    total = 0
    while time.monotonic() < end:
        for i in range(1000):
            total += i
    return total

{name}(time.monotonic() + {seconds})
"""

MIDDLE = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

def middle():
    made = interpreters.create()
    failed = interpreters.run_string(made, {inner!r})
    if failed:
        raise RuntimeError(failed)
    interpreters.destroy(made)

middle()
"""


def outer(source):
    made = interpreters.create()
    failed = interpreters.run_string(made, source)  # AT outer
    if failed:
        raise RuntimeError(failed)
    interpreters.destroy(made)


def nested(seconds):
    outer(INNER.format(name="works_inside", seconds=seconds))
    outer(MIDDLE.format(inner=INNER.format(name="works_innermost", seconds=seconds)))


def beside(seconds):
    def run(name):
        name_thread(name)
        outer(INNER.format(name=name, seconds=seconds))

    threads = [threading.Thread(target=run, args=(name,)) for name in ("left", "right")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


stand_by()
{"nested": nested, "beside": beside}[sys.argv[1]](float(sys.argv[2]))
stand_by({})
