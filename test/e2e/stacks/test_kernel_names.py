"""Names of kernel code that comes and goes: BPF programs."""
import ctypes
import os
import re
import struct
import sys
from pathlib import Path

import pytest

SYS_BPF = 321  # x86-64
PROG_LOAD, PROG_TEST_RUN = 5, 10
SOCKET_FILTER = 1

RUNNER = Path(__file__)  # is also a target: it loads a BPF program and runs it over and over


def bpf(command, attr):
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(attr, 128)
    result = libc.syscall(SYS_BPF, command, buffer, 128)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def load_spinner(name):
    """A socket filter of 3,000 additions, under a name."""
    add = struct.pack("<BBhi", 0x07, 0, 0, 1)  # r0 += 1
    code = struct.pack("<BBhi", 0xB7, 0, 0, 0) + add * 3000 + struct.pack("<BBhi", 0x95, 0, 0, 0)
    insns = ctypes.create_string_buffer(code, len(code))
    licence = ctypes.create_string_buffer(b"GPL")
    attr = struct.pack(
        "<IIQQIIQII16s",
        SOCKET_FILTER, len(code) // 8, ctypes.addressof(insns), ctypes.addressof(licence),
        0, 0, 0, 0, 0, name.encode(),
    )  # fmt: skip
    return bpf(PROG_LOAD, attr)


def run_for_ever(fd):
    data = ctypes.create_string_buffer(64)
    while True:
        # prog_fd, retval, data_size_in, data_size_out, data_in, data_out, repeat
        bpf(PROG_TEST_RUN, struct.pack("<IIIIQQI", fd, 0, 64, 0, ctypes.addressof(data), 0, 100000))


def runner(start, name):
    target = start(Path(sys.executable), RUNNER, name)
    target.first_line()
    return target


def test_a_bpf_program_that_is_loaded_later_has_its_name(profiler, start):
    from helpers import wait_for  # (the runner doesn't find it)

    try:
        os.close(load_spinner("probe_of_test"))
    except OSError as error:
        pytest.skip(f"no BPF program can be loaded: {error}")
    before = runner(start, "spinner_one")
    profiler.profile(pids=[before.pid], frequency=1000)
    wait_for(lambda: bpf_frames(profiler.folded()) == {"spinner_one"}, every=0.5, why="the first one's name")
    # The table of the kernel's names has been read: a new program makes it be read again.
    later = runner(start, "spinner_two")
    profiler.put_ok({"snoopers": {"proc_id": [before.pid, later.pid]}})
    both = {"spinner_one", "spinner_two"}
    wait_for(lambda: bpf_frames(profiler.folded()) == both, every=0.5, why="both names")


def bpf_frames(profile):
    """The names of the test's BPF programs among the frames: bpf_prog_<tag>_<name>_[k]. (A target may be
    sampled in a program of another daemon, too.)"""
    found = (re.fullmatch(r"bpf_prog_[0-9a-f]{16}_(spinner\w+)_\[k\]", f) for f in profile.frames())
    return {match[1] for match in found if match}


if __name__ == "__main__":
    FD = load_spinner(sys.argv[1])
    print("1", flush=True)
    run_for_ever(FD)
