"""What an attacker lays in the daemon's way, and whether it was opened: inotify tells of each opening of a
device's node, of a file of /proc, of anything (since Linux 6.10 not of O_PATH, which opens nothing)."""
import ctypes
import os
import stat
import subprocess
import time

import pytest

from hanging_folder import READ, HangingFolder
from helpers import program
from test_symbols import tool

NOBODY = 65534
OTHER = 31337  # a user that nobody has
IN_OPEN = 0x20
LIBC = ctypes.CDLL(None, use_errno=True)


class Watch:
    """Whether a file was opened since it was last asked."""

    def __init__(self, path):
        self.path = path
        self.fd = LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self.fd >= 0
        assert LIBC.inotify_add_watch(self.fd, os.fsencode(path), IN_OPEN) >= 0, os.strerror(ctypes.get_errno())
        if self.tells(os.O_PATH):
            os.close(self.fd)
            pytest.skip("inotify tells of O_PATH as well (before Linux 6.10)")

    def tells(self, flags):
        fd = os.open(self.path, flags)
        told = self.was_opened()
        os.close(fd)
        return told

    def was_opened(self):
        try:
            return bool(os.read(self.fd, 65536))
        except BlockingIOError:
            return False

    def close(self):
        os.close(self.fd)


def node(path, mode=stat.S_IFCHR, device=(1, 3)):
    """A device's node as root of a container makes it: opening this one does nothing (/dev/null)."""
    try:
        os.mknod(path, mode | 0o666, os.makedev(*device))
    except PermissionError:
        pytest.skip("mknod isn't allowed here")
    return path


def linked(folder, name, link, bare=False, of="spin"):
    """A program of nobody's, which names a debug file of that name beside it, without a build id."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    tool("objcopy", "--remove-section", ".note.gnu.build-id", program(of), path)
    made = folder / link
    made.write_bytes(b"a debug file")
    if bare:
        tool("strip", path)
    tool("objcopy", f"--add-gnu-debuglink={made}", path)
    made.unlink()
    for one in (folder, path):
        os.chown(one, NOBODY, NOBODY)
    return path


class SlowFolder(HangingFolder):
    """Each answer to a read (128 KiB at most) comes after so many seconds."""

    def __init__(self, path, name, content, seconds):
        super().__init__(path, name, content)
        self.seconds = seconds

    def __enter__(self):
        self.after = -1  # there is no such request: it goes on
        return super().__enter__()

    def answer(self, opcode, node, body):
        if opcode == READ:
            time.sleep(self.seconds)
        return super().answer(opcode, node, body)


class Program:
    """One that runs."""

    popen = None

    @property
    def pid(self):
        return self.popen.pid

    def kill(self):
        self.popen.kill()
        self.popen.wait()


class Attacker(Program):
    """Runs that program as nobody, or another user."""

    def __init__(self, *argv, uid=NOBODY, **how):
        self.popen = subprocess.Popen([str(arg) for arg in argv], user=uid, group=uid,
                                      extra_groups=[], stdout=subprocess.DEVNULL, **how)  # fmt: skip
