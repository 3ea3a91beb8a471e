"""Functions and static probes of files that only containers have: real ones, of podman."""
from helpers import PROGRAMS, wait_for
from podman import Inside, c_rootfs
from waiting import answer, let_go, stands_by

PLACE = "/opt/own/points"  # no such file is on this machine
TICKS = {"ticks": f"u:{PLACE}:event_tick", "begun": f"usdt:{PLACE}:points:begun", "gated": f"usdt:{PLACE}:points:gated"}


def image(podman, name, program):
    """An image that has that program at PLACE; its whole name."""
    return podman.image(name, lambda: c_rootfs().add_program(PROGRAMS / program, PLACE))


def run(podman, image_name, ticks):
    """A program there that has stopped itself. (The first process of a container can't be stopped from within.)"""
    container = podman.run(image_name, "/bin/sh", "-c", f"{PLACE} {ticks} 0; true")
    wait_for(lambda: len(container.pids()) == 2, why="the program has begun")
    target = Inside(container)
    wait_for(lambda: stands_by(target), why=f"it stands by: {container.logs()}")
    return target


def test_each_containers_own_file_of_a_path_is_watched(profiler, podman):
    """Two containers of one image, and one whose file of that path is another program: its function and its static
    probes lie elsewhere."""
    one, other = image(podman, "points", "points"), image(podman, "points-moved", "points_moved")
    ticks = {run(podman, one, 700): 700, run(podman, one, 800): 800, run(podman, other, 900): 900}
    profiler.profile(pids=[target.pid for target in ticks], probes=[f"event:{name}" for name in TICKS], events=TICKS,
                     max_overhead=0, frame_detail="name")  # fmt: skip
    for name in TICKS:
        assert profiler.probe(f"event:{name}")["reason"] == ""
    for target, count in ticks.items():
        let_go(target)
        did = answer(target)
        assert did["ticks"] == did["begun"] == did["gated"] == count, "its semaphore is raised"
    for target, count in ticks.items():
        for name, function in (("ticks", "event_tick"), ("begun", "run_statics"), ("gated", "run_statics")):
            found = profiler.folded(f"event:{name}", pid=target.pid)
            assert found.total(function) == found.total() == count, (name, count, found.frames())
