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
import gc
import itertools
import json
import mmap
import os
import sys
import threading
import types
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_OPTIMIZED

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


def name_inside(code, name, names):
    """Names all code inside of code, as the compiler does."""
    prefix = name + (".<locals>." if code.co_flags & CO_OPTIMIZED else ".") if name else ""
    for inner in code.co_consts:
        if isinstance(inner, type(code)) and inner not in names:
            names[inner] = prefix + inner.co_name
            name_inside(inner, names[inner], names)


def qualified_names():
    """{code object: qualified name}, of versions whose code objects don't know them."""
    names = {}
    for frame in sys._current_frames().values():
        while frame:
            if frame.f_code.co_name == "<module>":
                name_inside(frame.f_code, "", names)
            frame = frame.f_back
    for function in gc.get_objects():
        if isinstance(function, types.FunctionType) and not hasattr(function, "__wrapped__"):
            code, name = function.__code__, function.__qualname__
            if ("." + name).endswith("." + code.co_name):
                names.setdefault(code, name)
                name_inside(code, names[code], names)
    return names


def told(code, names):
    """Name, file, lines, whether calling it makes a generator in a frame of its own (3.11 and later), of which
    no event tells; and the name alone, which before 3.11 a profiler may tell as well."""
    generator = code.co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)
    name = getattr(code, "co_qualname", None)
    return [name or names.get(code, code.co_name), code.co_filename, lines_of(code),
            bool(generator) and sys.version_info >= (3, 11), name or code.co_name]  # fmt: skip


def write():
    names = {} if sys.version_info >= (3, 11) else qualified_names()
    text = json.dumps({
        "path0": sys.path[0] or os.getcwd(),
        "stdlib": os.path.dirname(os.__file__),
        "codes": [told(code, names) for code in codes],
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
