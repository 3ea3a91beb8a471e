# SPDX-License-Identifier: GPL-2.0-or-later
"""moving.py FOLDER: stops itself (SIGSTOP), then moves bytes by each call that Python has, in a function of its own for
each: whole, short, failed and interrupted ones. Prints what it moved, by function, direction and kind of file:
{"by_file": {"read file": [calls, bytes], ...}, ...}; then it stops itself again.
"""
import ctypes
import errno
import json
import os
import signal
import socket
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
NOWHERE = 16  # an address
moved = {}


def note(way, count):
    calls, total = moved.get(way, (0, 0))
    moved[way] = (calls + 1, total + count)
    return count


def nobody(number, frame):
    """A handler, so that a signal interrupts."""


def alarms(seconds):
    """Signals come without end: until one interrupts the next call."""
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)


def failed(call, *args):
    """Of libc, so without Python's own second try."""
    assert call(*args) == -1
    return ctypes.get_errno()


def pipe(blocking=True):
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, blocking)
    return ends


def by_file():
    file = os.open("moving", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    note("write file", os.write(file, b"x" * 5000))
    note("write file", os.pwrite(file, b"y" * 300, 10))
    note("write file", os.writev(file, [b"a" * 20, b"b" * 30]))
    note("write file", os.pwritev(file, [b"a" * 20, b"b" * 30], 7))
    os.lseek(file, 0, os.SEEK_SET)
    note("read file", len(os.read(file, 4000)))
    assert note("read file", len(os.read(file, 4000))) == 1050, "a short one"
    assert note("read file", len(os.read(file, 4000))) == 0, "the end"
    note("read file", len(os.pread(file, 700, 4500)))
    note("read file", os.preadv(file, [bytearray(50), bytearray(60)], 5))
    os.lseek(file, 0, os.SEEK_SET)
    note("read file", os.readv(file, [bytearray(50), bytearray(60)]))
    os.close(file)


def by_pipe():
    reads, writes = pipe(blocking=False)
    while True:
        try:
            note("write pipe", os.write(writes, b"x" * 50000))
        except BlockingIOError:
            break
    assert moved["write pipe"][1] < moved["write pipe"][0] * 50000, "the last one is short"
    while True:
        try:
            note("read pipe", len(os.read(reads, 40000)))
        except BlockingIOError:
            break


def by_socket():
    here, there = socket.socketpair()
    note("write socket", here.send(b"x" * 500))
    note("write socket", here.sendmsg([b"a" * 100, b"b" * 23]))
    note("peek socket", len(there.recv(300, socket.MSG_PEEK)))
    note("read socket", len(there.recv(400)))
    note("read socket", there.recv_into(bytearray(200)))
    note("read socket", len(there.recvmsg(5000)[0]))
    here.setblocking(False)
    there.setblocking(False)
    while True:
        try:
            note("write socket", here.send(b"x" * 50000))
        except BlockingIOError:
            break
    while True:
        try:
            note("read socket", len(there.recv(70000)))
        except BlockingIOError:
            break
    here.close()
    there.setblocking(True)
    assert note("read socket", len(there.recv(10))) == 0, "the end"


def by_copy():
    file = os.open("moving", os.O_RDWR)
    here, there = socket.socketpair()
    reads, writes = pipe()
    note("read file", note("write socket", os.sendfile(here.fileno(), file, 10, 1500)))
    note("read file", note("write file", os.copy_file_range(file, file, 900, 0, 3000)))
    note("read socket", len(there.recv(4000)))
    if hasattr(os, "splice"):  # 3.10
        note("read file", note("write pipe", os.splice(file, writes, 1200, offset_src=5)))
        note("read pipe", len(os.read(reads, 4000)))
    os.close(file)


def failing():
    reads, writes = pipe(blocking=False)
    for _ in range(20):
        for call, error in ((lambda: os.read(reads, 10), errno.EAGAIN), (lambda: os.read(-1, 10), errno.EBADF),
                            (lambda: os.write(reads, b"x"), errno.EBADF),
                            (lambda: os.lseek(reads, 0, 0), errno.ESPIPE),
                            (lambda: os.pread(reads, 10, 0), errno.ESPIPE)):  # fmt: skip
            try:
                call()
            except OSError as why:
                assert why.errno == error, why
            else:
                raise AssertionError("it should have failed")
        assert failed(LIBC.write, writes, ctypes.c_void_p(NOWHERE), 10) == errno.EFAULT


def interrupted():
    """Calls that come back with EINTR and nothing else."""
    reads, _writes = pipe()
    here, _there = socket.socketpair()
    room = ctypes.create_string_buffer(10)
    alarms(0.02)
    assert failed(LIBC.read, reads, room, 10) == errno.EINTR
    assert failed(LIBC.recv, here.fileno(), room, 10, 0) == errno.EINTR
    alarms(0)


def tried_again():
    """Python makes an interrupted call again, until the handler has put bytes into the pipe."""
    reads, writes = pipe()
    hits = []

    def answers(_number, _frame):
        hits.append(1)
        if len(hits) == 3:
            note("write pipe", os.write(writes, b"abc"))
            alarms(0)

    before = signal.signal(signal.SIGALRM, answers)
    alarms(0.02)
    assert note("read pipe", len(os.read(reads, 10))) == 3
    signal.signal(signal.SIGALRM, before)


def given_up():
    """A handler that raises ends the call: nothing was moved."""

    hits = []

    def gives_up(_number, _frame):
        alarms(0)
        if not hits:
            hits.append(1)
            raise InterruptedError

    reads, _writes = pipe()
    before = signal.signal(signal.SIGALRM, gives_up)
    try:
        alarms(0.02)
        os.read(reads, 10)
    except InterruptedError:
        pass
    assert hits
    signal.signal(signal.SIGALRM, before)


def interrupted_after():
    """A write that has moved a part when the signal comes is a short one."""
    _reads, writes = pipe()
    alarms(0.02)
    assert note("write pipe", os.write(writes, b"x" * 100000)) < 100000
    alarms(0)


STEPS = (by_file, by_pipe, by_socket, by_copy, failing, interrupted, tried_again, given_up, interrupted_after)


def main():
    os.chdir(sys.argv[1])
    signal.signal(signal.SIGALRM, nobody)
    told = {}
    signal.raise_signal(signal.SIGSTOP)
    for step in STEPS:
        moved.clear()
        step()
        told[step.__name__] = dict(moved)
    print(json.dumps(told), flush=True)
    signal.raise_signal(signal.SIGSTOP)


main()
