"""A folder whose file system stops answering: FUSE, served by a thread of the test that reads no more
requests. Whoever waits for one of them can be killed, and is told of an error in the end.
"""
import ctypes
import os
import select
import struct
import threading

LIBC = ctypes.CDLL(None, use_errno=True)
MNT_DETACH = 2

# linux/fuse.h
LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, INIT, INTERRUPT, BATCH_FORGET = 1, 2, 3, 14, 15, 18, 26, 36, 42
WITHOUT_ANSWER = (FORGET, INTERRUPT, BATCH_FORGET)
HEADER = struct.Struct("<IIQQIIII")
ROOT, FILE = 1, 2
ENOENT, ENOSYS = 2, 38


def attributes(node, size, owner):
    mode, links = (0o40755, 2) if node == ROOT else (0o100755, 1)
    return struct.pack("<6Q10I", node, size, 1, 0, 0, 0, 0, 0, 0, mode, links, owner, owner, 0, 4096, 0)


class HangingFolder:
    """`name` with that content lies in it, and as many others as `more` names. `after`: the request that is
    answered last; None: none is. `later`: all are until hang()."""

    def __init__(self, path, name, content=b"", after=OPEN, more=(), owner=0, later=False):
        self.path, self.content, self.after = path, content, after
        self.names = [each.encode() for each in (name, *more)]
        self.owner, self.later = owner, later
        self.armed = False
        self.over, self.wake = os.pipe()
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)

    def __enter__(self):
        options = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
        if LIBC.mount(b"hanging", os.fsencode(self.path), b"fuse", 0, options):
            error = ctypes.get_errno()
            self.close()
            raise OSError(error, os.strerror(error))
        self.begin()
        # One that is closed tells the kernel that a close need not be told: nobody can be killed in that.
        os.close(os.open(f"{self.path}/{self.names[0].decode()}", os.O_RDONLY))
        if not self.later:
            self.hang()
        return self

    def begin(self):
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def answer_again(self):
        """After hang() with after=None: those that wait are answered, and all that comes."""
        self.armed = False
        os.read(self.over, 1)
        self.begin()

    def hang(self):
        self.armed = True
        if not self.after:
            self.stop()

    def stop(self):
        os.write(self.wake, b"x")
        self.thread.join()

    def vanish(self):
        """Whoever waits, or asks later, is told that there is nobody. It is still mounted."""
        self.stop()
        self.close()

    def __exit__(self, *_):
        if self.fd is not None:
            self.vanish()
        LIBC.umount2(os.fsencode(self.path), MNT_DETACH)

    def close(self):
        for fd in (self.fd, self.over, self.wake):
            os.close(fd)
        self.fd = None

    def serve(self):
        opcode = None
        while not (self.armed and opcode == self.after):
            if self.over in select.select([self.fd, self.over], [], [])[0]:
                return
            request = os.read(self.fd, 1 << 18)
            length, opcode, number, node, *_ = HEADER.unpack_from(request)
            if opcode in WITHOUT_ANSWER:
                continue
            error, answer = self.answer(opcode, node, request[HEADER.size : length])
            os.write(self.fd, struct.pack("<IiQ", 16 + len(answer), -error, number) + answer)

    def answer(self, opcode, node, body):
        size = len(self.content)
        if opcode == INIT:
            major, minor, ahead = struct.unpack_from("<III", body)
            return 0, struct.pack("<4IHHIIHH8I", major, min(minor, 31), ahead, 0, 0, 0, 1 << 16, 1, 0, 0, *[0] * 8)
        if opcode == LOOKUP:
            name = body.rstrip(b"\0")
            if name not in self.names:
                return ENOENT, b""
            node = FILE + self.names.index(name)
            return 0, struct.pack("<4QII", node, 0, 0, 0, 0, 0) + attributes(node, size, self.owner)
        if opcode == GETATTR:
            return 0, struct.pack("<QII", 0, 0, 0) + attributes(node, size, self.owner)
        if opcode == OPEN:
            return 0, struct.pack("<QII", 0, 0, 0)
        if opcode == READ:
            at, length = struct.unpack_from("<8xQI", body)
            return 0, self.content[at : at + length]
        return (0, b"") if opcode == RELEASE else (ENOSYS, b"")
