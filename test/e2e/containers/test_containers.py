"""Processes are chosen by their containers and pods, of a real podman, and have these above them in each line."""
import json
import os
import re
import signal
import socket
import stat
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from helpers import HZ, PROGRAMS, give_way, wait_for
from sched_client import Sched


def spinning(podman, seconds=60, **how):
    one = podman.run("c", "/opt/c_spin", seconds, **how)
    give_way(one.pid)
    return one


def body(daemon, probes=("oncpu",), state="running", **snoopers):
    params = {"svg_dir": str(daemon.svg_dir), "flame_dir": str(daemon.flame_dir), "thread_frame": 0, "frequency": HZ}
    return {"cmd": {"probe": list(probes)}, "snoopers": snoopers, "params": params, "state": state}


def choose(daemon, **snoopers):
    daemon.put_ok(body(daemon, **snoopers))
    daemon.wait_running()


def inside(*containers):
    return {pid for container in containers for pid in container.pids()}


def wait_chosen(daemon, *containers):
    """Until all processes of these are chosen, and none else."""
    wanted = inside(*containers)
    wait_for(lambda: set(daemon.processes()) == wanted, 30, why=lambda: (wanted, daemon.processes()))


def wait_sampled(daemon, *pids, least=50):
    wait_for(lambda: all(daemon.folded(pid=pid).total() >= least for pid in pids), 40, 0.5)


def con(*containers):
    """What stands above their processes."""
    return {(None, container.name) for container in containers}


def told_of(daemon, pid):
    """What GET tells of a process's container: name, pod, id, image. The shape is known here only."""
    container = daemon.processes()[pid]["container"] or {}
    return tuple(container.get(key, "") for key in ("name", "pod", "id", "image"))


@pytest.fixture
def two(podman):
    """Of one image."""
    return spinning(podman), spinning(podman)


def ways(one):
    """How to choose that container."""
    yield {"container_name": [one.name]}
    yield {"container_name": [f"/^{one.name[:-1]}[{one.name[-1]}]$/"]}
    yield {"container_id": [one.id]}
    yield {"container_id": [one.id[:12].upper()]}
    if one.cgroup():
        yield {"cgroup": [one.cgroup()]}


@pytest.mark.quick
def test_one_of_two_containers_of_an_image_in_each_way(profiler, two):
    for way in ways(two[0]):
        choose(profiler, **way)
        wait_chosen(profiler, two[0])
        profiler.put_ok({"snoopers": {"container_name": [two[1].name]}})
        wait_chosen(profiler, two[1])
    for conmon in (two[0].conmon(), two[1].conmon()):
        assert conmon not in profiler.processes()


def test_lines_and_get_tell_the_containers_apart(profiler, two, start):
    here = start("spin", 60)
    choose(profiler, container_name=[one.name for one in two], proc_id=[here.pid])
    pids = [one.pid for one in two]
    wait_sampled(profiler, here.pid, *pids)
    profile = profiler.folded()
    assert profile.containers(here.pid) == {(None, None)}
    for one, pid in zip(two, pids):
        assert profile.containers(pid) == con(one)
        assert told_of(profiler, pid) == (one.name, "", one.id, one.inspect("{{.ImageName}}"))
    assert told_of(profiler, here.pid) == ("", "", "", "")


def test_all_of_an_image_and_none_of_another(profiler, podman, two):
    copied = podman.name("other")
    podman.call("commit", "-q", two[0].name, copied)
    other = podman.run(copied, "/opt/c_spin", 60)
    image = two[0].inspect("{{.ImageName}}")
    try:
        choose(profiler, image=[image])
        wait_chosen(profiler, *two)
        choose(profiler, image=[image.removeprefix("localhost/").removesuffix(":latest")])
        wait_chosen(profiler, *two)
        choose(profiler, image=[f"/{copied}/"])
        wait_chosen(profiler, other)
    finally:
        podman.call("rmi", "-f", copied)


@pytest.fixture
def pod(podman):
    made = podman.pod()
    made.one, made.other = (made.run("c", "/opt/c_spin", 60) for _ in range(2))
    return made


def in_pod(pod):
    """The processes of its cgroup, with its first container's, which only waits."""
    parent = Path(pod.one.cgroup() or "/none").parent.name
    found = set()
    for path in Path("/proc").glob("[0-9]*/cgroup"):
        try:
            if parent in path.read_text():
                found.add(int(path.parent.name))
        except OSError:
            pass
    return found & set(filter(lambda pid: Path(f"/proc/{pid}/comm").read_text() != "conmon\n", found))


def test_a_pod_by_its_id_and_by_its_name(profiler, podman, pod):
    if not pod.one.cgroup():
        pytest.skip("no cgroups of version 2 here")
    spinners = {pod.one.pid, pod.other.pid}
    alone = spinning(podman)
    for way in ({"pod_id": [pod.id]}, {"pod_id": [pod.id[:12]]}, {"pod": {"name": pod.name}},
                {"cgroup": [str(Path(pod.one.cgroup()).parent)]}):  # fmt: skip
        choose(profiler, **way)
        wait_for(lambda: spinners <= set(profiler.processes()), 30, why=lambda: profiler.processes())
        assert alone.pid not in profiler.processes()
        assert set(profiler.processes()) <= in_pod(pod)
        profiler.put_ok({"snoopers": {"container_name": [alone.name]}})
        wait_chosen(profiler, alone)


def test_lines_begin_with_the_pod(profiler, pod):
    choose(profiler, pod_id=[pod.id])
    pids = [pod.one.pid, pod.other.pid]
    wait_sampled(profiler, *pids)
    profile = profiler.folded()
    for one, pid in zip((pod.one, pod.other), pids):
        assert profile.containers(pid) == {(pod.name, one.name)}
        assert told_of(profiler, pid)[:3] == (one.name, pod.name, one.id)


@pytest.mark.alone("a program of 0.5 s counts from its begin, which the daemon of a busy host sees late")
def test_one_that_starts_after_the_put_has_its_first_samples_and_its_name_when_it_has_gone(profiler, podman):
    name = podman.name("brief")
    choose(profiler, container_name=[name])
    assert profiler.processes() == {}
    podman.run("c", "/opt/c_short_lived", 0.5, name=name, options=("--rm",), detach=False)
    assert podman.call("container", "exists", name, check=False).returncode == 1
    profile = profiler.folded()
    assert profile.containers() == {(None, name)}
    assert profile.total("main", "short_work") >= 0.85 * 0.5 * HZ


def test_a_container_that_stops_and_starts_again(profiler, podman):
    one = spinning(podman)
    choose(profiler, container_name=[one.name])
    wait_chosen(profiler, one)
    first = one.pid
    wait_sampled(profiler, first)
    one.stop()
    wait_for(lambda: not profiler.processes(), 30)
    one.start()
    wait_chosen(profiler, one)
    assert one.pid != first
    wait_sampled(profiler, one.pid)
    one.restart()
    wait_chosen(profiler, one)
    wait_sampled(profiler, one.pid)
    profile = profiler.folded()
    assert profile.containers() == con(one)
    assert len({s.frames[0] for s in profile.stacks if s.frames[0].endswith("c_spin")}) >= 2


def test_what_is_execed_into_a_container_is_its(profiler, podman):
    one = podman.run("c", "/bin/sleep", 60)
    choose(profiler, container_id=[one.id[:16]])
    wait_chosen(profiler, one)
    one.exec("/opt/c_spin", 60, detach=True)
    wait_for(lambda: profiler.folded().total("main", "outer") > 50, 20, 0.5)
    profile = profiler.folded()
    assert profile.containers() == con(one)
    assert any(name == "c_spin" for name in profile.names)


def test_a_cgroup_below_the_containers_is_its_own_too(profiler, podman):
    """Whoever makes cgroups in a container is still in it."""
    one = spinning(podman)
    if not one.cgroup():
        pytest.skip("no cgroups of version 2 here")
    mounts = Path("/proc/mounts").read_text()
    root = Path(re.search(r"^\S+ (\S+) cgroup2 ", mounts, re.M)[1])
    own, pid = one.cgroup(), one.pid
    below = root / own.lstrip("/") / "below"
    below.mkdir()
    try:
        (below / "cgroup.procs").write_text(str(pid))
        for way in ({"container_name": [one.name]}, {"cgroup": [own]}, {"cgroup": [f"{own}/below"]}):
            choose(profiler, **way)
            wait_for(lambda: set(profiler.processes()) == {pid}, 30, why=way)
        assert told_of(profiler, pid)[0] == one.name
    finally:
        one.kill()
        wait_for(lambda: not Path(f"/proc/{pid}").exists())
        with suppress(FileNotFoundError):  # the container's end may have taken it along
            below.rmdir()


def test_who_is_chosen_by_its_name_has_what_its_container_is_wanted_for_as_well(profiler, podman):
    """Snoopers are a union, also for who was a target before it was known where it is."""
    one = podman.run("c", "/opt/c_naps_bare", "-r", 1000, "2ms:30000")
    for place in ({"container_id": [one.id]}, {"container_name": [one.name]}):
        by_name = [{"comm": "^c_naps_bare$", "probe": ["oncpu"]}]
        profiler.put_ok(body(profiler, ("oncpu", "offcpu"), proc_name=by_name, **place))
        profiler.wait_running()
        wait_for(lambda: profiler.folded("offcpu", pid=one.pid).total() > 0, 30, 0.5, why=place)
        profiler.put_ok({"snoopers": {"proc_name": [{"comm": "^nobody$"}]}})
        wait_for(lambda: not profiler.processes())


def test_who_is_forked_while_its_container_is_being_found_is_chosen(profiler, podman):
    """Of the children that never exec, none is missed: not between the listing and the parent's being chosen."""
    one = podman.run("c", "/opt/c_brood", 500, 2000)
    pid = one.pid
    choose(profiler, container_name=["nobody"])
    os.kill(pid, signal.SIGUSR1)
    choose(profiler, container_name=[one.name])
    children = Path(f"/proc/{pid}/task/{pid}/children")
    wait_for(lambda: len(children.read_text().split()) == 500, 30, why=children.read_text)
    wanted = {pid, *map(int, children.read_text().split())}
    wait_for(lambda: set(profiler.processes()) == wanted, 30, why=lambda: sorted(wanted ^ set(profiler.processes())))


def test_a_new_program_in_a_cgroup_too_deep_to_be_told_is_looked_up(profiler):
    mounts = re.search(r"^\S+ (\S+) cgroup2 ", Path("/proc/mounts").read_text(), re.M)
    if not mounts:
        pytest.skip("no cgroups of version 2 here")
    levels = [Path(mounts[1]) / f"stackprobe-deep-{os.getpid()}"]
    levels += [levels[0] / "/".join("d" * n) for n in range(1, 40)]
    script = f'echo $$ > {levels[-1]}/cgroup.procs; read x; exec {PROGRAMS / "spin"} 60'
    for level in levels:
        level.mkdir()
    one = subprocess.Popen(["/bin/sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: levels[0].name in Path(f"/proc/{one.pid}/cgroup").read_text())
        choose(profiler, cgroup=[f"/{levels[0].name}"])
        wait_for(lambda: set(profiler.processes()) == {one.pid}, 30)
        time.sleep(1.5)  # what came there was looked up
        one.stdin.write(b"\n")
        one.stdin.flush()
        wait_for(lambda: profiler.folded(pid=one.pid).total("main", "outer") > 50, 30, 0.5)
    finally:
        one.kill()
        one.wait()
        for level in reversed(levels):
            wait_for(lambda: not (level / "cgroup.procs").read_text())
            level.rmdir()


def test_sched_of_a_container(profiler, podman, start):
    one = podman.run("c", "/opt/c_naps_bare", "-r", 1000, "2ms:300000")
    start("naps", "-r", 1000, "2ms:300000")
    sched = Sched(profiler)
    sched.run("cpudist", snoopers={"container_name": [one.name]}, group_by="pid")
    wait_for(lambda: sched.count("cpudist") > 50, 40, 0.5, why=lambda: sched.config()["status"])
    assert set(sched.groups("cpudist")) == {one.pid}
    name = podman.name("later")
    sched.run("cpudist", snoopers={"container_name": [name]}, group_by="pid")
    later = podman.run("c", "/opt/c_naps_bare", "-r", 1000, "2ms:300000", name=name)
    wait_for(lambda: sched.groups("cpudist").get(later.pid, {}).get("count", 0) > 50, 40, 0.5,
             why=lambda: (later.pid, sched.groups("cpudist")))  # fmt: skip
    before = {one.pid, later.pid}
    assert all(n["comm"].startswith(("runc", "c_")) for g, n in sched.groups("cpudist").items() if g not in before)


def test_what_get_tells_can_be_put(profiler, two):
    snoopers = {"container_name": [two[0].name, "/^nobody-[0-9]+$/"], "container_id": [two[1].id[:12]],
                "pod_id": ["0a8ea4e7-cac7-46cb-9062-a4ddbb1a78fa"], "image": ["redis:7"],
                "pod": [{"name": "web", "namespace": "shop"}]}  # fmt: skip
    if two[0].cgroup():
        snoopers["cgroup"] = ["/kubepods"]
    choose(profiler, **snoopers)
    wait_chosen(profiler, *two)
    told = profiler.settings()
    for key, value in snoopers.items():
        assert told["snoopers"][key] == value
    profiler.put_ok({**told, "snoopers": {"proc_name": [{"comm": "^nobody$"}]}})
    wait_for(lambda: not profiler.processes())
    profiler.put_ok(told)
    assert profiler.settings() == told
    wait_chosen(profiler, *two)


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_the_choice_survives_a_restart_of_the_daemon(profiler, two, how):
    profiler.conf.write_text(profiler.conf.read_text().replace("restore = false;", "restore = true;"))
    profiler.stop()
    profiler.start()
    choose(profiler, container_name=[two[0].name])
    wait_chosen(profiler, two[0])
    before = profiler.settings()
    getattr(profiler, how)()
    profiler.start()
    assert profiler.settings() == before
    wait_chosen(profiler, two[0])
    wait_sampled(profiler, two[0].pid)
    assert profiler.folded().containers() == con(two[0])


# A runtime's state that lies


STATE = "var/lib/containers/storage/overlay-containers"


def entry(container, name):
    made = {"id": container.id, "names": [name], "metadata": json.dumps({"name": name, "image-name": "an/image:1"})}
    return made


def write_state(root, *entries, text=None):
    folder = root / STATE
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "containers.json").write_text(json.dumps(entries) if text is None else text)
    return folder / "containers.json"


def half(root, *entries):
    path = write_state(root, *entries)
    path.write_text(path.read_text()[:-30])


def fifo(root, *_):
    write_state(root).unlink()
    os.mkfifo(root / STATE / "containers.json")


def huge(root, *entries):
    with write_state(root, *entries).open("r+b") as out:
        out.truncate(8 << 30)


def is_a_folder(root, *_):
    write_state(root).unlink()
    (root / STATE / "containers.json").mkdir()


def device(root, *_):
    write_state(root).unlink()
    os.mknod(root / STATE / "containers.json", stat.S_IFCHR | 0o600, os.makedev(1, 5))  # /dev/zero


def deep(root, *_):
    write_state(root, text="[" * 200_000)


def nothing(root, *_):
    root.mkdir(exist_ok=True)


@pytest.fixture
def lied_to(profiler, work):
    """The daemon, with a host's root of its own, where runtimes' state is looked for."""
    root = work / "host"
    profiler.conf.write_text(profiler.conf.read_text() + f'containers = {{ root = "{root}"; }};\n')
    profiler.stop()

    def begin(lie, *entries):
        lie(root, *entries)
        profiler.start()
        return profiler

    return begin


@pytest.mark.parametrize("lie", [half, fifo, huge, is_a_folder, device, deep, nothing])
def test_of_a_state_that_makes_no_sense_the_id_is_left(lied_to, podman, lie):
    one = spinning(podman)
    daemon = lied_to(lie, entry(one, "told"))
    choose(daemon, container_id=[one.id[:12]])
    wait_chosen(daemon, one)
    wait_sampled(daemon, one.pid)
    began = time.monotonic()
    assert daemon.folded().containers() == {(None, one.id[:12])}
    assert time.monotonic() - began < 10  # a window ended in time
    assert told_of(daemon, one.pid) == ("", "", one.id, "")


@pytest.mark.parametrize("name", ["../../etc", "a/../b", "", "..", "a\0b", "n" * 5000],
                         ids=["up", "within", "empty", "dots", "nul", "long"])  # fmt: skip
def test_a_name_that_is_none_is_not_believed_and_the_others_keep_theirs(lied_to, two, name):
    daemon = lied_to(write_state, entry(two[0], name), entry(two[1], "honest"))
    choose(daemon, container_id=[one.id for one in two])
    wait_chosen(daemon, *two)
    wait_sampled(daemon, two[0].pid, two[1].pid)
    assert told_of(daemon, two[0].pid)[:3] == ("", "", two[0].id)
    assert told_of(daemon, two[1].pid) == ("honest", "", two[1].id, "an/image:1")
    profile = daemon.folded()
    assert profile.containers(two[0].pid) == {(None, two[0].id[:12])}
    assert profile.containers(two[1].pid) == {(None, "honest")}


def test_a_socket_that_never_answers_costs_the_pods_name_alone(lied_to, podman, pod, work):
    root = work / "host"
    (root / "run/podman").mkdir(parents=True)
    silent = socket.socket(socket.AF_UNIX)
    silent.bind(str(root / "run/podman/podman.sock"))
    silent.listen(8)
    alone = spinning(podman)
    daemon = lied_to(write_state, entry(pod.one, "in_pod"), entry(alone, "alone"))
    choose(daemon, container_id=[pod.one.id, alone.id])
    wait_chosen(daemon, pod.one, alone)
    wait_sampled(daemon, alone.pid, pod.one.pid)
    for _ in range(3):  # while it is waited for
        began = time.monotonic()
        assert daemon.get("/healthz").status == 200
        assert time.monotonic() - began < 2
    wait_for(lambda: told_of(daemon, pod.one.pid)[0] == "in_pod", 30)
    profile = daemon.folded()
    assert {container for _, container in profile.containers(pod.one.pid)} == {"in_pod"}
    assert profile.containers(alone.pid) == {(None, "alone")}
    silent.close()
