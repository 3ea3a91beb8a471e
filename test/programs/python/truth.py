"""What a program knows of its own stacks.

A program hands its turn (a function that ends within milliseconds) to `loop()`, in one thread or in
several. The first turns run under sys.setprofile(), which tells of each call: so every stack that there
can be is written down, with the line in each caller, the names and the lines of each function. The
recorder is then taken away, PATH.PID.json written, and the same turns go on for ever, from the same
line. What is sampled from then on has to be among the stacks written down.

For Python 3.8 and later. PATH is the program's first argument.
"""
import ctypes
import dis
import itertools
import json
import mmap
import os
import sys
import threading
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR

PATH = sys.argv[1]
TURNS = 3  # that are recorded, in each thread

codes = {}  # code object: its number
nodes = {}  # (caller's node, the line there, number of the code): its number
running = {}  # id of a frame that runs: its node
lock = threading.Lock()
written = threading.Event()
extra = {}  # what else the test has to know
threads_left = 1


def node_of(frame):
    node = running.get(id(frame))
    return place(frame) if node is None else node


def place(frame):
    """A frame that begins, or goes on after a yield, below the one that called it."""
    caller = frame.f_back
    where = (-1, 0) if caller is None else (node_of(caller), caller.f_lineno)
    with lock:
        code = codes.setdefault(frame.f_code, len(codes))
        node = nodes.setdefault((*where, code), len(nodes))
    running[id(frame)] = node
    return node


def on_event(frame, event, _arg):
    if event == "call":
        place(frame)


def begin():
    """From here on the calls of this thread are recorded."""
    chain, frame = [], sys._getframe(1)
    while frame:
        chain.append(frame)
        frame = frame.f_back
    for frame in reversed(chain):
        place(frame)
    sys.setprofile(on_event)


def end():
    """… and no more. The last thread writes; none goes on before."""
    global threads_left
    sys.setprofile(None)
    with lock:
        threads_left -= 1
        last = not threads_left
    if last:
        write()
        written.set()
    written.wait()


def lines_of(code):
    """Those that its instructions have; 0: that some have none."""
    if hasattr(code, "co_lines"):
        return sorted({line or 0 for _, _, line in code.co_lines()} | {code.co_firstlineno})
    return sorted({line for _, line in dis.findlinestarts(code)} | {code.co_firstlineno})


def told(code):
    """Name, file, lines, and whether calling it makes a generator in a frame of its own (3.11 and later),
    of which no event tells."""
    generator = code.co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)
    return [getattr(code, "co_qualname", code.co_name), code.co_filename, lines_of(code),
            bool(generator) and sys.version_info >= (3, 11)]  # fmt: skip


def write():
    text = json.dumps({
        "path0": sys.path[0] or os.getcwd(),
        "stdlib": os.path.dirname(os.__file__),
        "codes": [told(code) for code in codes],
        "nodes": list(nodes),
        **extra,
    })  # fmt: skip
    codes.clear()
    nodes.clear()
    running.clear()
    name = "%s.%d.json" % (PATH, os.getpid())
    with open(name + ".new", "w") as file:
        file.write(text)
    os.rename(name + ".new", name)


def forget():
    """In a child: its truth is its own, and it ends when its parent is killed."""
    global threads_left, done
    done = page("turns")
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
    threads_left = 1
    written.clear()


def page(name):
    """Numbers that others may read while it runs: PATH.PID.NAME."""
    with open("%s.%d.%s" % (PATH, os.getpid(), name), "w+b") as file:
        file.truncate(mmap.PAGESIZE)
        return memoryview(mmap.mmap(file.fileno(), mmap.PAGESIZE)).cast("d")


done = page("turns")  # of each thread
slots = itertools.count()


def loop(turn):
    """turn() for ever. Recorded or not, it is called from the same line."""
    turns, slot = 0, next(slots)
    begin()
    while True:
        turn()
        turns += 1
        done[slot] = turns
        if turns == TURNS:
            end()


def loop_in_threads(*turns, main=False):
    """One thread for each. The main thread waits for them; `main`: and its stack is told as well."""
    global threads_left
    threads_left = len(turns)
    threads = [threading.Thread(target=loop, args=(turn,), daemon=True) for turn in turns]
    for thread in threads:
        thread.start()
    if main:
        begin()
    for thread in threads:
        thread.join()


def clocks(*names):
    """Seconds that the program counts itself, in a page that the test reads."""
    extra["clocks"] = names
    return page("clocks")
