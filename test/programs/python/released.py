"""Three threads on zlib and hashlib, which release the GIL; each counts its CPU time."""
import hashlib
import os
import zlib
from time import thread_time

import truth

DATA = os.urandom(1 << 16) * 8
clocks = truth.clocks("deflate", "digest", "checksum")


def deflate():
    began = thread_time()
    zlib.compress(DATA, 6)
    clocks[0] += thread_time() - began


def digest():
    began = thread_time()
    hashlib.sha256(DATA * 2)
    clocks[1] += thread_time() - began


def checksum():
    began = thread_time()
    for _ in range(20):
        zlib.crc32(DATA)
    clocks[2] += thread_time() - began


truth.loop_in_threads(deflate, digest, checksum)
