"""java_source: jfr, by the daemon."""
import os
import signal
import time

import pytest

from folded import Profile
from helpers import wait_for

pytestmark = pytest.mark.usefixtures("vms")
PROBES = ("oncpu", "offcpu", "mem")


def profile(daemon, *vms, probes=PROBES, **params):
    asked = {"java_source": "jfr", "multi_instance": 1, "native_stack": 0, "max_overhead": 0, **params}
    daemon.profile(pids=[vm.pid for vm in vms], probes=probes, **asked)


def source_of(daemon, vm):
    told = daemon.processes().get(vm.pid, {})
    return told.get("java_source"), told.get("java_reason")


def wait_recording(daemon, *vms, seconds=40):
    wait_for(lambda: all(source_of(daemon, vm)[0] == "jfr" for vm in vms), seconds, every=0.5,
             why=lambda: [source_of(daemon, vm) for vm in vms])  # fmt: skip


def test_try(profiler, vm):
    one = vm()
    profile(profiler, one)
    wait_recording(profiler, one)
    for _ in range(4):
        time.sleep(2)
        began = time.monotonic()
        p = profiler.folded()
        print(time.monotonic() - began, profiler.config()["status"]["java"])
    for s in p.stacks[:20]: print(s)
    print(open(profiler.log).read() if hasattr(profiler, "log") else "")
