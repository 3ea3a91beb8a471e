"""Memory's views have containers and pods above their processes, in each output, as CPU time has. (What Java VMs
record of themselves: test_containers_symbols.py.)"""
import re
from types import SimpleNamespace

from allocating import wait_probed
from folded import Profile
from helpers import wait_for
from placed import assert_placed, get

VIEWS = [("mem", None), ("mem_glibc", "alloc"), ("mem_glibc", "inuse"), ("mem_glibc", "mmap")]

# Grows, allocates, and keeps the last of it.
KEEPER = """
import mmap, time
kept = []
while True:
    time.sleep(0.05)
    kept.append((bytearray(300000), mmap.mmap(-1, 1 << 20)))
    kept[-1][1].write(bytes(1 << 20))
    del kept[:-10]
"""


def test_views_of_memory(profiler, podman, start):
    pod = podman.pod()
    inside = pod.run("python", "/opt/py/bin/python3", "-c", KEEPER)
    bare = start("/usr/bin/python3", "-c", KEEPER)
    targets = [SimpleNamespace(pid=inside.pid), bare]
    profiler.profile(pids=[target.pid for target in targets], probes=("mem", "mem_glibc", "offcpu"),
                     mem_sample_bytes=0, mem_fault_bytes=4096, max_overhead=0, svg_period=600)  # fmt: skip
    wait_probed(profiler, *targets)
    where = {inside.pid: (pod.name, inside.name, inside.inner_pid), bare.pid: (None, None, None)}

    def all_there():
        return all(Profile(get(profiler, probe, "folded", view).text).pids == set(where) for probe, view in VIEWS)

    wait_for(all_there, 20, 0.5, why=lambda: [get(profiler, probe, "folded", view).text[:200] for probe, view in VIEWS])  # fmt: skip
    for probe, view in VIEWS:
        assert_placed(profiler, where, probe, view)
    metrics = profiler.get("/metrics").text
    found = re.findall(r'\{pid="(\d+)",comm="[^"]*"([^}]*)\}', metrics)
    of = {pid: [rest for its, rest in found if int(its) == pid] for pid in where}
    assert of[inside.pid] and of[bare.pid]
    assert all(rest.startswith(f',container="{inside.name}",pod="{pod.name}"') for rest in of[inside.pid])
    assert not any("container" in rest for rest in of[bare.pid])
