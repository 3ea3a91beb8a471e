"""A second observer: what a clock of the same period, read by the kernel alone, finds on each CPU.

Where the host takes a processor away, a guest's timers come late or are lost, and its CPU clocks
may leave the stolen time out: samples × period is then not CPU time, for any observer. This one
tells by how much. It is perf's own event and ring, and has nothing of the daemon in it.
"""
import ctypes
import mmap
import os
import platform
import struct
from collections import Counter

PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
SOFTWARE, CPU_CLOCK = 1, 0
SAMPLE_TID, CLOSE_ON_EXEC = 2, 8
RING_BYTES = 1 << 21  # 131 s at 1000 Hz: longer than a test may take
HEAD = 1024  # where the ring's first page has the count of bytes written
HEADER = struct.Struct("IHH")  # type, misc, size
WHO = struct.Struct("II")  # pid, tid
SAMPLE = 9  # others: an idle CPU without ticks is throttled until its next one

libc = ctypes.CDLL(None, use_errno=True)


class Clock:
    """One CPU's."""

    def __init__(self, cpu, period_ns):
        attr = struct.pack("IIQQQ32x", SOFTWARE, 64, CPU_CLOCK, period_ns, SAMPLE_TID)
        number = PERF_EVENT_OPEN[platform.machine()]
        self.fd = libc.syscall(number, attr, -1, cpu, -1, CLOSE_ON_EXEC)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), f"perf_event_open on cpu {cpu}")
        self.ring = mmap.mmap(self.fd, mmap.PAGESIZE + RING_BYTES)

    def ticks(self):
        """(pid, tid) of each: whom it found there, 0 for nobody."""
        (head,) = struct.unpack_from("Q", self.ring, HEAD)
        records = self.ring[mmap.PAGESIZE : mmap.PAGESIZE + head]
        assert head + mmap.PAGESIZE <= RING_BYTES, "the ring is too small"
        at = 0
        while at < head:
            kind, _, size = HEADER.unpack_from(records, at)
            if kind == SAMPLE:
                yield WHO.unpack_from(records, at + HEADER.size)
            at += size

    def close(self):
        self.ring.close()
        os.close(self.fd)


class Observer:
    """Looks at all CPUs from now on."""

    def __init__(self, hz):
        self.period_ns = round(1e9 / hz)
        self.clocks = {cpu: Clock(cpu, self.period_ns) for cpu in sorted(os.sched_getaffinity(0))}

    def ns(self, *pids):
        """CPU time of these processes, as far as its ticks tell."""
        found = sum(pid in pids for clock in self.clocks.values() for pid, _ in clock.ticks())
        return found * self.period_ns

    def samples(self, *pids):
        """How often it found these processes. At least one: who asks knows that they ran."""
        found = self.ns(*pids) // self.period_ns
        assert found > 0, f"the clock did not tick in {pids}"
        return found

    def threads_ns(self, pid):
        """{tid: CPU time} of the process's threads that it met."""
        all_ticks = (tick for clock in self.clocks.values() for tick in clock.ticks())
        found = Counter(tid for of, tid in all_ticks if of == pid)
        return {tid: ticks * self.period_ns for tid, ticks in found.items()}

    def ticks(self, cpu):
        return sum(1 for _ in self.clocks[cpu].ticks())

    def close(self):
        for clock in self.clocks.values():
            clock.close()
