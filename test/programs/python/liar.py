"""liar.py LIBRARY MICROSECONDS SEEDS: rewrites what its interpreter keeps of itself, while C code
burns with the interpreter's lock; puts it back, and goes on to the next. Each lie has a thread and a
function of its own, lie_N, which nobody has seen before.

Nothing here knows where a version keeps what: what is to be rewritten is looked for by its value.
Tells how many lies there were.
"""
import ctypes
import os
import random
import sys
import threading
import time

from standing import name_thread, stand_by

LIBRARY = ctypes.PyDLL(sys.argv[1])
LIBRARY.edge.restype = ctypes.c_uint64
MICROSECONDS = int(sys.argv[2])
API = ctypes.pythonapi
for name in ("PyInterpreterState_Head", "PyThreadState_Get", "PyInterpreterState_ThreadHead"):
    getattr(API, name).restype = ctypes.c_void_p
API.PyInterpreterState_ThreadHead.argtypes = [ctypes.c_void_p]
EMPTY = []  # lies that found nothing to rewrite
RUNTIME = ctypes.addressof(ctypes.c_char.in_dll(API, "_PyRuntime"))
EDGE = LIBRARY.edge()
WILD = (0, 1, 8, 0x18, 0x4141414141414141, 2**64 - 1, 2**64 - 8, 0xFFFF888000000000,
        0x00007FFFFFFFEFF8, 0x0000800000000000, EDGE, EDGE - 8, EDGE - 64, RUNTIME, RUNTIME + 3)
HUGE = (2**40, 2**62, 2**63 - 1, 2**64 - 1, 1 << 20, 65536)


def words(address, count):
    return (ctypes.c_uint64 * count).from_address(address)


def places(address, count, *values):
    """Where among so many words one of these is."""
    return [address + 8 * i for i, word in enumerate(words(address, count)) if word in values]


def word(address):
    return words(address, 1)[0]


class Own:
    """Where the state, a frame and its code object of this thread are, by looking."""

    def __init__(self, frame):
        me = sys._getframe()
        code = frame.f_code
        self.state = API.PyThreadState_Get()
        self.interpreter = API.PyInterpreterState_Head()
        self.heads = places(RUNTIME, 128, self.interpreter)
        size = 128 if sys.version_info < (3, 13) else 2048
        head = API.PyInterpreterState_ThreadHead(self.interpreter)
        self.threads = places(self.interpreter, size, head)[:1]
        self.idents = places(self.state, 40, threading.get_ident())
        self.frame, self.before = address_of(frame), address_of(frame.f_back)
        # (3.11 and 3.12 have a word between: their CFrame's address.)
        self.chain = places(self.state, 32, address_of(me)) or [self.state + 56]
        self.code, self.name = id(code), id(code.co_name)
        self.previous = places(self.frame, 12, self.before)
        self.codes = places(self.frame, 12, self.code, self.code | 1)
        self.names = places(self.code, 28, self.name)
        self.files = places(self.code, 28, id(code.co_filename))
        self.table = id(code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab)
        self.tables = places(self.code, 28, self.table)


def address_of(frame):
    """Of what the interpreter walks: from 3.11 on the frame object has its address."""
    return id(frame) if sys.version_info < (3, 11) else word(id(frame) + 24)


def kinds():
    """(name, what to do about an Own: [(address, word), …])."""
    for value in WILD:
        yield "head", lambda own, v=value: [(at, v) for at in own.heads]
        yield "threads", lambda own, v=value: [(at, v) for at in own.threads]
        yield "chain", lambda own, v=value: [(at, v) for at in own.chain]
        yield "previous", lambda own, v=value: [(at, v) for at in own.previous]
        yield "code", lambda own, v=value: [(at, v) for at in own.codes]
        yield "name", lambda own, v=value: [(at, v) for at in own.names]
        yield "file", lambda own, v=value: [(at, v) for at in own.files]
        yield "table", lambda own, v=value: [(at, v) for at in own.tables]
        yield "type", lambda own, v=value: [(own.code + 8, v)]
    yield "threads in a ring", lambda own: (
        [(at, 0x1234) for at in own.idents] + [(own.state + at, own.state) for at in (0, 8)])
    yield "frames in a ring", lambda own: [(at, own.frame) for at in own.previous]
    yield "two frames in a ring", lambda own: [
        (own.before + at - own.frame, own.frame) for at in own.previous]
    yield "code is a str", lambda own: [(at, own.name) for at in own.codes]
    yield "name is code", lambda own: [(at, own.code) for at in own.names]
    yield "name is bytes", lambda own: [(at, own.table) for at in own.names]
    yield "table is a str", lambda own: [(at, own.name) for at in own.tables]
    for length in HUGE:
        yield "a long name", lambda own, v=length: [(own.name + 16, v)]
        yield "a long table", lambda own, v=length: [(own.table + 16, v)]
    for state in (0, 0xFF, 0xFFFFFFFF, 0x08, 0x10, 0x20, 0x64, 0x84):
        yield "a strange name", lambda own, v=state: [(own.name + 32, v)]
        yield "a strange long name", lambda own, v=state: [(own.name + 32, v), (own.name + 16, 2**20)]


def random_lies(own, seed):
    """Words of all that a walker or a reader looks at, with bits turned or replaced."""
    draw = random.Random(seed)
    spots = [own.state + 8 * i for i in range(2, 24)] + [own.frame + 8 * i for i in range(12)]
    spots += [own.code + 8 * i for i in range(1, 26)] + [own.name + 8 * i for i in range(1, 6)]
    spots += own.heads + own.threads + [own.table + 8 * i for i in range(2, 6)]
    chosen = draw.sample(sorted(set(spots)), draw.randint(1, 12))
    known = (own.state, own.frame, own.code, own.name, own.before, own.interpreter)
    return [(at, draw.choice((word(at) ^ 1 << draw.randrange(64), draw.choice(WILD + HUGE + known),
                              draw.getrandbits(64)))) for at in chosen]  # fmt: skip


SOURCE = """
def lie_{n}(make):
    addresses, values, count = prepared(make(Own(frame())))
    return lie(addresses, values, count, microseconds)
"""


def prepared(spots):
    if not spots:
        EMPTY.append(threading.current_thread().name)
    addresses = (ctypes.c_void_p * len(spots))(*(at for at, _ in spots))
    return addresses, (ctypes.c_uint64 * len(spots))(*(value for _, value in spots)), len(spots)


def lies(seeds):
    yield from kinds()
    for seed in range(seeds):
        yield f"random {seed}", lambda own, s=seed: random_lies(own, s)


def thread(number, make):
    name_thread(f"lie_{number}")
    scope = {"prepared": prepared, "Own": Own, "frame": sys._getframe, "lie": LIBRARY.lie,
             "microseconds": MICROSECONDS}  # fmt: skip
    exec(compile(SOURCE.format(n=number), f"lie_{number}.py", "exec"), scope)
    scope[f"lie_{number}"](make)


def main():
    number = 0
    stand_by()
    for _, make in lies(int(sys.argv[3])):
        one = threading.Thread(target=thread, args=(number, make))
        one.start()
        one.join()
        while len(os.listdir("/proc/self/task")) > 1:
            time.sleep(0)  # until it has taken its state out of the list
        number += 1
    stand_by({"lies": number, "empty": len(EMPTY)})


main()
