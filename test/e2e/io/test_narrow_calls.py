"""io: calls of 32-bit code, of a program of 64 bits (int $0x80) and of one of 32 bits, against what it says that it
moved."""
import errno
import subprocess

import pytest

from helpers import PROGRAMS, program
from test_io import ask, profile_io, sums
from test_rings import assert_holds, told_lost, whole, whole_of
from waiting import answer, let_go, ready


def asked(name):
    """A program, where this kernel takes what it does."""
    if not (PROGRAMS / name).exists():
        pytest.skip(f"{name} was not built: not on x86-64, or the compiler makes no programs of 32 bits")
    try:
        ended = subprocess.run([program(name)], check=False)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        pytest.skip("this kernel runs no programs of 32 bits (CONFIG_IA32_EMULATION)")
    if ended.returncode:
        pytest.skip("this kernel takes no calls of 32-bit code (CONFIG_IA32_EMULATION, ia32_emulation=)")
    return name


def narrow(start, profiler, work, name, **params):
    """One of them, and what it says."""
    target = ready(start, asked(name), work)
    profile_io(profiler, target, **params)
    let_go(target)
    return target, answer(target)


def test_calls_of_32_bit_code_are_counted_with_the_bytes_that_they_moved(profiler, start, work):
    _, truth = narrow(start, profiler, work, "narrow")
    assert {"narrow_socketcall", "narrow_messages"} <= truth.keys() and truth["narrow_failing"] == {}
    assert_holds(profiler, truth)
    assert not {"narrow_failing", "narrow_idle"} & ask(profiler, value="count").frames()
    assert not told_lost(profiler)
    assert not any(profiler.probe("io")["truncated"].values()), profiler.probe("io")


def test_the_same_of_a_program_of_32_bits(profiler, start, work):
    target, truth = narrow(start, profiler, work, "narrow_i386")
    assert whole_of(profiler, target) == whole(target, truth)
    assert_holds(profiler, truth)
    assert not told_lost(profiler)
    assert not any(profiler.probe("io")["truncated"].values()), profiler.probe("io")


def test_time_in_calls_of_32_bit_code(profiler, start, work):
    _, truth = narrow(start, profiler, work, "narrow", io_time=1)
    assert_holds(profiler, truth)
    in_calls = ask(profiler, view="time", value="count")
    assert sums(in_calls, "narrow_socketcall") == {to: n for to, (n, _) in truth["narrow_socketcall"].items()}
