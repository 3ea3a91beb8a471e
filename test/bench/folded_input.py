"""Folded text for the renderer's bench: the same bytes at every run.

usage: folded_input.py STACKS REPEATS FILE, lines in random order. Stacks have 12 to 48 frames with
names of a service in C++, some recursion, a common beginning for each of 40 threads; counts are
skewed as samples are. REPEATS: how often each stack occurs, with other counts.
"""
import random
import sys

PARTS = (
    "handle parse read write flush commit lookup insert merge compact encode decode hash "
    "compare allocate release lock wait notify dispatch route render format validate open close "
    "advance seek fetch store evict refresh rotate schedule"
).split()
TYPES = (
    "Buffer Cache Index Table Row Page Session Request Response Query Plan Executor Iterator "
    "Allocator Arena Worker Queue Timer Channel Stream Codec<Utf8> Map<Page> "
    "Node Tree Segment Log Snapshot Transaction Cursor"
).split()
SPACES = "storage net sql util core io service rpc".split()


def names(rng, count):
    made = []
    for i in range(count):
        kind = rng.choice(TYPES)
        name = f"{rng.choice(SPACES)}::{kind}::{rng.choice(PARTS)}_{rng.choice(PARTS)}"
        arguments = ("unsigned long", f"{rng.choice(TYPES)} const&", f"std::shared_ptr<{kind}>")
        made.append(f"{name}({', '.join(rng.sample(arguments, rng.randint(0, 3)))})")
    return made


def stack(rng, pool, heads):
    frames = list(rng.choice(heads))
    target = rng.randint(12, 48)
    at = rng.randrange(len(pool))
    while len(frames) < target:
        # Callers have a few callees each: stacks share their beginnings and part later.
        at = (at * 31 + 7 * int(rng.expovariate(0.7)) + len(frames)) % len(pool)
        frames.append(pool[at])
    return ";".join(frames)


def write(out, stacks, repeats, seed=1):
    rng = random.Random(seed)
    pool = names(rng, 4000)
    heads = [
        (f"[{1000 + i % 8}]service-{i % 8}", f"worker-{i}", "start_thread", "main_loop")
        for i in range(40)
    ]
    distinct = {}
    while len(distinct) < stacks:
        distinct[stack(rng, pool, heads)] = None
    lines = []
    for text in distinct:
        for _ in range(repeats):
            lines.append(f"{text} {int(rng.paretovariate(1.1) * 3)}\n")
    rng.shuffle(lines)
    out.writelines(lines)


if __name__ == "__main__":
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        write(file, int(sys.argv[1]), int(sys.argv[2]))
