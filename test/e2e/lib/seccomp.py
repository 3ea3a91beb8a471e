"""Filters of system calls, for preexec_fn; x86-64 only."""
import ctypes
import errno
import platform
import struct

import pytest

from helpers import SAN

BPF, PERF_EVENT_OPEN = 321, 298


def needs_filters():
    if platform.machine() != "x86_64":
        pytest.skip("the filter is for x86-64")
    if SAN:
        pytest.skip("the sanitizers need what is forbidden here")


def forbidding(*calls, error=errno.EPERM):
    """In the child these calls fail from now on."""
    code = [(0x20, 0, 0, 0)]  # A = the system call's number
    for call in calls:
        code += [(0x15, 0, 1, call), (0x06, 0, 0, 0x00050000 | error)]  # SECCOMP_RET_ERRNO
    code.append((0x06, 0, 0, 0x7FFF0000))

    def forbid():
        words = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in code))
        fprog = struct.pack("HxxxxxxP", len(code), ctypes.addressof(words))
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
        assert libc.prctl(22, 2, fprog, 0, 0) == 0  # PR_SET_SECCOMP, SECCOMP_FILTER

    return forbid
