"""One function whose lines take known parts of its time: 60, 30 and 10 in 100. Its clock is read once for
each part."""
import zlib
from time import thread_time

import truth

DATA = bytes(range(256)) * 64
clocks = truth.clocks("sixty", "thirty", "ten")
checksum = zlib.adler32


def parts():
    began = thread_time()
    for _ in range(60):
        checksum(DATA)  # sixty
    clocks[0] += thread_time() - began
    began = thread_time()
    for _ in range(30):
        checksum(
            DATA
        )  # thirty
    clocks[1] += thread_time() - began
    began = thread_time()
    for _ in range(10):
        checksum(DATA)  # ten
    clocks[2] += thread_time() - began


truth.loop(parts)
