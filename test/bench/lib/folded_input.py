"""Folded text for the renderer's bench, the same bytes at every run.

usage: folded_input.py FILE STACKS REPEATS
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
SPACES = "storage network query utility core io service remote".split()


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
    at = 97 * int(frames[1].split("-")[1])
    while len(frames) < target:
        at = (at * 31 + 7 * int(rng.expovariate(0.7)) + len(frames)) % len(pool)
        frames.append(pool[at])
    return ";".join(frames)


def write(path, stacks, repeats, seed=1):
    """Lines in random order: so many distinct stacks, each so often, with other counts.

    Stacks have 12 to 48 frames with names of a service in C++; 40 threads, each with a common
    beginning; callers have a few callees. Counts are drawn exponentially.
    """
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
            lines.append(f"{text} {1 + int(rng.expovariate(0.05))}\n")
    rng.shuffle(lines)
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(lines)


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
