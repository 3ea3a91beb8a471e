"""One function whose lines take known parts of its time, some 60, 30 and 10 in 100: its clock is read once
for each part. How long a part is, is drawn at random, or it would keep step with the samples."""
import itertools
import random
import zlib
from time import thread_time

import truth

DATA = bytes(range(256)) * 64
clocks = truth.clocks("sixty", "thirty", "ten")
checksum = zlib.adler32
random.seed(8)
part = itertools.cycle([random.random() for _ in range(9973)]).__next__


def parts():
    began = thread_time()
    for _ in range(int(120 * part())):
        checksum(DATA)  # sixty
    clocks[0] += thread_time() - began
    began = thread_time()
    for _ in range(int(60 * part())):
        checksum(
            DATA
        )  # thirty
    clocks[1] += thread_time() - began
    began = thread_time()
    for _ in range(int(20 * part())):
        checksum(DATA)  # ten
    clocks[2] += thread_time() - began


truth.loop(parts)
