"""Names of what runs in containers of a real podman: from the files, the memory and the namespaces of the
container, whatever became of it."""
import re
import shutil
import time
from pathlib import Path

import pytest

import java_jfr
from allocating import Views, let, profile_allocations, wait_probed
from helpers import HZ, cpu_ns, program, wait_for
from javas import javas, need_classes
from placed import assert_placed
from podman import Inside
from test_java_jfr_daemon import is_recorded
from test_python_frames import STACKS, names
from test_symbols import build_id, split, tool
from waiting import ready
from whole import assert_chain, assert_whole, chain

DEPTH = 10
CHAIN = ("c_chain", DEPTH, 4)  # it has a pid until that is asked for
SPIN = ("main", "outer", "middle", "inner_spin")
JAVAS = javas()


def attach_has_jfr():
    return java_jfr.JAR.exists() and java_jfr.JAR.stat().st_size > 0


def run(podman, name, *args, **how):
    return podman.run("c", f"/opt/{name}", *args, **how)


def burning(container, seconds=0.3, within=40):
    """Its pid, when it has burnt so long."""
    pid = container.pid
    wait_for(lambda: cpu_ns(pid) > seconds * 1e9, within, why=f"it burns: {container.logs()}")
    return pid


def nearly_all(profile, *frames, pid=None):
    total = profile.total(pid=pid)
    assert total > 100, profile.stacks
    assert profile.total(*frames, pid=pid) >= 0.95 * total, [(s.value, s.frames) for s in profile.of(pid)][:5]


# Files of an image, of the layer above it, of this machine


def test_a_program_without_frame_pointers_that_only_the_container_has(profiler, podman):
    assert not Path("/opt/c_chain").exists()
    profiler.profile("^c_chain$", frequency=HZ, thread_frame=0)
    container = run(podman, *CHAIN)
    pid = container.pid
    assert container.wait() == 0
    profile = profiler.folded()
    assert profile.pids == {pid}
    nearly_all(profile, *chain(DEPTH))  # but what was sampled before its tables were there
    assert_chain(profile, DEPTH)


def test_one_that_was_there_before_it_was_chosen(profiler, podman):
    container = run(podman, "c_chain", DEPTH, 600)
    pid = burning(container)
    profiler.profile("^c_chain$", frequency=HZ, thread_frame=0)
    wait_for(lambda: profiler.folded(pid=pid).total() > 1500, every=0.2, why="samples")
    container.kill()
    profile = profiler.folded(pid=pid)
    assert_whole(profiler, profile, *chain(DEPTH))


def test_of_two_files_with_one_path_the_containers_is_read(profiler, podman, work):
    """A program, and its debug file beside it. (Both of this machine's are of another program.)"""
    here = work / "same/c_same"
    place = work / "content" / here.parent.relative_to("/")
    split(shutil.copy(program("thirds"), mkdir(here.parent) / here.name), here.parent / "same.debug")
    split(shutil.copy(program("spin"), mkdir(place) / here.name), place / "same.debug")
    for folder in (here.parent, place):
        tool("objcopy", f"--add-gnu-debuglink={folder}/same.debug", folder / here.name)
    container = podman.create("c", here, 1.2)
    container.copy_in(f"{work}/content/.", "/")
    profiler.profile("^c_same$", frequency=HZ)
    container.start()
    container.wait()
    nearly_all(profiler.folded(), *SPIN)


def mkdir(path):
    path.mkdir(parents=True, exist_ok=True)
    return path


def test_a_program_that_is_replaced_in_the_upper_layer_while_it_runs(profiler, podman):
    container = run(podman, "c_spin", 60)
    pid = burning(container)
    container.exec("/bin/cp", "/opt/c_chain", "/opt/new")
    container.exec("/bin/mv", "/opt/new", "/opt/c_spin")
    assert "/opt/c_spin (deleted)" in Path(f"/proc/{pid}/maps").read_text()
    profiler.profile("^c_spin$", frequency=HZ)
    wait_for(lambda: profiler.probe()["samples"] > 500, why="it is sampled")
    nearly_all(profiler.folded(pid=pid), *SPIN)


def test_one_that_is_copied_up_while_it_runs(profiler, podman):
    """A change of its mode makes a copy in the upper layer; it goes on in that of the image."""
    profiler.profile("^c_spin$", frequency=HZ)
    container = run(podman, "c_spin", 60)
    pid = burning(container)
    (container.root / "opt/c_spin").chmod(0o700)
    samples = profiler.probe()["samples"]
    wait_for(lambda: profiler.probe()["samples"] > samples + 500, why="it is sampled")
    nearly_all(profiler.folded(pid=pid), *SPIN)


@pytest.mark.parametrize("how", ["build id", "link"])
def test_a_debug_file_in_the_containers_own_folder_of_them(profiler, podman, work, how):
    bare, debug = shutil.copy(program("spin"), work / "c_split"), work / "split.debug"
    id_ = build_id(bare)
    if how == "link":
        tool("objcopy", "--remove-section", ".note.gnu.build-id", bare)
    split(bare, debug)
    container = podman.create("c", "/opt/c_split", 1.2)
    if how == "link":
        tool("objcopy", f"--add-gnu-debuglink={debug}", bare)
        into = "opt/split.debug"
    else:
        into = f".build-id/{id_[:2]}/{id_[2:]}.debug"
    shutil.copy(debug, mkdir((work / "content/usr/lib/debug" / into).parent) / Path(into).name)
    container.copy_in(f"{work}/content/.", "/")
    container.copy_in(bare, "/opt/c_split")
    profiler.profile("^c_split$", frequency=HZ)
    container.start()
    container.wait()
    nearly_all(profiler.folded(), *SPIN)


@pytest.mark.parametrize("options", [
    pytest.param(("--read-only",), id="read-only root"),
    pytest.param(("--tmpfs", "/tmp", "--user", "1234:1234", "--cap-drop", "all"), id="another user"),
    pytest.param(("--uidmap", "0:100000:5000", "--gidmap", "0:100000:5000"), id="user namespace"),
    pytest.param(("--pid", "host"), id="our pids"),
])  # fmt: skip
def test_however_it_is_shut_in(profiler, podman, options):
    profiler.profile("^c_chain$", frequency=HZ, thread_frame=0)
    container = run(podman, *CHAIN, options=options)
    pid = container.pid
    assert container.wait() == 0
    nearly_all(profiler.folded(pid=pid), *chain(DEPTH))


# What has gone when names are looked for


def test_a_container_that_was_gone_with_all_its_files_before_the_window_ended(profiler, podman):
    profiler.profile("^c_short_lived$", frequency=HZ)
    container = run(podman, "c_short_lived", 1, options=("--rm",), detach=False)
    assert podman.call("container", "exists", container.name, check=False).returncode == 1
    time.sleep(1)
    nearly_all(profiler.folded(), "main", "short_work")


def test_an_image_that_is_removed_with_its_containers(profiler, podman, work):
    """Podman has no images that are gone while a container of them runs: it ends these as well."""
    shutil.copy(program("spin"), work / "c_doomed")
    copied = run(podman, "c_spin", 60)
    copied.copy_in(work / "c_doomed", "/opt/c_doomed")
    image = podman.name("doomed")
    podman.call("commit", "-q", copied.name, image)
    copied.remove()
    profiler.profile("^c_doomed$", frequency=HZ)
    container = podman.run(image, "/opt/c_doomed", 60)
    pid = burning(container, 0.8)
    podman.call("rmi", "-f", image)
    assert not Path(f"/proc/{pid}").exists()
    time.sleep(0.5)
    nearly_all(profiler.folded(pid=pid), *SPIN)


def test_a_process_that_execed_into_another_program_of_the_image(profiler, podman):
    profiler.profile("^c_(spin|chain)$", frequency=HZ, thread_frame=0)
    container = podman.run("c", "/bin/sh", "-c", "/opt/c_spin 1; exec /opt/c_chain 10 3")
    container.wait()
    profile = profiler.folded()
    own = [pid for pid in profile.pids if profile.containers(pid) == {(None, container.name)}]
    assert len(own) == 2, [(pid, profile.containers(pid)) for pid in profile.pids]
    assert profile.total(*SPIN) > 0.4 * HZ and profile.total(*chain(DEPTH)) > 0.8 * HZ


# Allocations: points in the image's C library


def test_allocations_by_the_c_library_of_the_image(profiler, podman):
    """(The first process of a pid namespace can't stop itself.)"""
    target = ready(lambda name, cpu: Inside(run(podman, name, options=("--init",))), "c_allocations_bare")
    profile_allocations(profiler, "^c_allocations_b$", pids=[target.pid])
    wait_probed(profiler, target)
    truth = let(target)
    Views(profiler, pid=target.pid).assert_exact(truth)


# Python


def test_python_that_only_the_container_has(profiler, podman):
    script = Path(__file__).parents[2] / "programs/python/shown.py"
    container = podman.create("python", "/opt/py/bin/python3", "-B", "/opt/work/shown.py")
    container.copy_in(mkdir_with(podman.folder / "work", script), "/opt")
    container.start()
    pid = burning(container)
    profiler.profile(pids=[pid], frequency=HZ, thread_frame=0)
    wait_for(lambda: profiler.folded(pid=pid).total() > 500, 20, 0.5)
    profile = profiler.folded(pid=pid)
    assert profiler.processes()[pid]["runtime"].startswith("python 3.")
    whole = [("<module>", "main", *stack) for stack in STACKS]
    known = {stack[:length] for stack in whole for length in range(1, len(stack) + 1)}
    right = sum(s.value for s in profile.stacks if tuple(n for n in names(s)) in known and not s.has("[truncated]"))
    assert right >= 0.98 * profile.total(), [(s.value, s.frames) for s in profile.stacks if names(s) not in known][:3]
    assert profile.total("work (shown.py:10)_[p]") + profile.total("work (shown.py:11)_[p]") > 0.5 * profile.total()


def mkdir_with(folder, *files):
    for file in files:
        shutil.copy(file, mkdir(folder))
    return folder


def test_python_in_a_container_that_has_gone(profiler, podman):
    text = "import time\ndef brief():\n    end = time.process_time() + 1.6\n    while time.process_time() < end: pass\nbrief()\n"
    profiler.profile({"comm": "^python3$", "cmdline": "/opt/py/bin/python3"}, frequency=HZ)
    podman.run("python", "/opt/py/bin/python3", "-c", text, options=("--rm",), detach=False)
    profile = profiler.folded()
    brief = [s for s in profile.stacks if any(re.fullmatch(r"brief \(<string>:[34]\)_\[p\]", f) for f in s.frames)]
    assert sum(s.value for s in brief) > 0.5 * HZ, [(s.value, s.frames) for s in profile.stacks][:5]


# Java


def start_vm(podman, java, *options):
    need_classes()
    image, mounts = podman.java(java)
    # There is something to read, so it begins with lateTurn(), which has the CPU half of the time.
    command = "exec /opt/java/bin/java -cp /opt/classes truth.Attached </etc/passwd"
    container = podman.run(image, "/bin/sh", "-c", command, options=[*mounts, *options])
    wait_for(lambda: "ready" in container.logs(), 60, why=f"a VM: {container.logs()}")
    return container


def share(profile, *frames):
    found = sum(s.value for s in profile.stacks if all(any(f.startswith(w) for f in s.frames) for w in frames))
    return found / max(profile.total(), 1)


@pytest.mark.parametrize("java", JAVAS[:1] + JAVAS[-1:] if len(JAVAS) > 1 else JAVAS)
def test_java_by_its_own_tables(profiler, podman, java):
    container = start_vm(podman, java)
    pid = burning(container, 1)
    profiler.profile(pids=[pid], frequency=HZ)
    wait_for(lambda: profiler.folded(pid=pid).total() > 300, 40, 0.5)
    profile = profiler.folded(pid=pid)
    assert profiler.processes()[pid]["runtime"].startswith("java")
    assert share(profile, "truth.Attached.main", "truth.Attached.late") > 0.4, [
        (s.value, s.frames) for s in profile.stacks][:5]  # fmt: skip
    assert any(re.match(r"truth\.Attached\.late\w+.* \(Attached\.java(:\d+)?\)_\[", f) for f in profile.frames())
    assert not any(f == "[jit]_[j]" for s in profile.stacks for f in s.frames)


@pytest.mark.parametrize("options", [
    pytest.param((), id="its own tmp"),
    pytest.param(("--read-only", "--user", "1234:1234", "--cap-drop", "all"), id="read-only root, another user"),
    pytest.param(("--uidmap", "0:100000:5000", "--gidmap", "0:100000:5000"), id="user namespace"),
])  # fmt: skip
@pytest.mark.parametrize("java", JAVAS[-1:])
def test_java_by_an_agent_whose_files_lie_in_the_containers_tmp(profiler, podman, java, options):
    """And by a recording, whose files lie there as well; one after the other."""
    container = start_vm(podman, java, *options)
    folder = container.root / f"tmp/java-data-{container.inner_pid}"
    burning(container, 1)
    for source in ("agent", "jfr") if attach_has_jfr() else ("agent",):
        probes = ("oncpu", "mem") if source == "jfr" and not options else ("oncpu",)
        told_in(profiler, container, folder, source, probes)
    assert container.running


def told_in(profiler, container, folder, source, probes):
    """Profiles it by that source, whose files lie in the folder until that ends."""
    pid = container.pid
    profiler.profile(pids=[pid], probes=probes, frequency=HZ, max_overhead=0, java_source=source, multi_instance=1,
                     native_stack=0)  # fmt: skip
    field, wanted = ("java_agent", "attached") if source == "agent" else ("java_source", "jfr")

    def told():
        profiler.folded(pid=pid)  # a window ends
        return profiler.processes().get(pid, {}).get(field) == wanted

    wait_for(told, 40, 0.5, why=lambda: profiler.processes().get(pid))
    assert folder.exists() and not any(Path(f"/tmp/java-data-{p}").exists() for p in (1, pid))

    def named():
        stacks = [s for s in profiler.folded(pid=pid).stacks if is_recorded(s) == (source == "jfr")]
        return sum(s.value for s in stacks if any(f.startswith("truth.Attached.lateTurn") for f in s.frames)) >= 30

    wait_for(named, 30, 1, why=lambda: [(s.value, s.frames) for s in profiler.folded(pid=pid).stacks][:5])
    for probe in probes:
        assert_placed(profiler, {pid: (None, container.name, container.inner_pid)}, probe)
    profiler.put_ok({"state": "stopped"})
    wait_for(lambda: not folder.exists(), 20, why=lambda: list(folder.iterdir()))
