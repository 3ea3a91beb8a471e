"""java_source: agent, by the daemon: whom it asks, what GET says, what it takes names from, and that it
leaves nothing."""
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

import java_symbols
from beside import own_folder
from folded import Profile
from helpers import HZ, ROOT, Daemon, missing_privilege, wait_for
from java_session import JavaSession
from java_truth import OUTSIDE, Truth, merged
from java_vm import Vm
from javas import WAITS, all_leaves, javas
from kept import session_of

OTHER = 31337
pytestmark = pytest.mark.usefixtures("vms")


def agent_of(daemon, vm):
    return daemon.processes().get(vm.pid, {}).get("java_agent", "")


def profile(daemon, *vms, **params):
    daemon.profile(pids=[vm.pid for vm in vms], frequency=HZ, max_overhead=0, java_source="agent", **params)


def wait_attached(daemon, *vms, seconds=30):
    wait_for(lambda: all(agent_of(daemon, vm) == "attached" for vm in vms), seconds,
             why=lambda: [agent_of(daemon, vm) for vm in vms])  # fmt: skip


def go_when_told(daemon, program):
    """Leaves that wait (WAITS) begin when the agent knows everything of what is compiled from then on."""
    wait_attached(daemon, program)
    time.sleep(4)
    program.go()
    program.ready()


def share(stacks, of):
    total = sum(s.value for s in stacks)
    return sum(s.value for s in stacks if of(s)) / total


def late_stacks(daemon, vm):
    """Those of the next seconds in what is compiled of its late part."""
    answer = daemon.get(f"/flamegraph/oncpu.folded?seconds=4&pid={vm.pid}", timeout=40)
    stacks = [s for s in Profile(answer.text).of(vm.pid)
              if any("truth.Attached.lateTurns" in f and f.endswith(("_[j]", "_[i]")) for f in s.frames)]  # fmt: skip
    return [s for s in stacks if not any("Thread.sleep" in frame for frame in s.frames)]


def assert_named(daemon, vm):
    """What is compiled after the agent came is known with all that is inlined into it: of what is sampled
    when it has been compiled."""
    time.sleep(4)  # a compiler that has begun before the agent came is done by then
    vm.be_late()
    wait_for(lambda: vm.has("lateTurn"), 40)
    codes = vm.symbols().codes
    assert not any(c.before for c in codes if c.kind == java_symbols.CODE and c.name.name == "lateTurn")
    time.sleep(4)
    stacks = []
    wait_for(lambda: stacks.extend(late_stacks(daemon, vm)) or sum(s.value for s in stacks) > 100, 60, why=stacks)
    inlined = "truth.Attached.latePart (Attached.java:"
    assert share(stacks, lambda s: any(f.startswith(inlined) for f in s.frames)) >= 0.95, stacks
    agents = daemon.config()["status"]["java"]["agents"]
    assert agents["given"] > 3 and agents["codes"] > 100 and agents["lost"] == 0, agents
    assert (agents["attached"], agents["failed"]) == (1, 0)
    process = daemon.processes()[vm.pid]
    assert (process["java_source"], process["java_reason"]) == ("agent", "asked for")
    lines = daemon.get("/metrics").text.split("\n")
    for state, count in (("attached", 1), ("attaching", 0), ("failed", 0)):
        assert f'stackprobe_java_agents{{state="{state}"}} {count}' in lines
    told = dict(line.split(" ") for line in lines if line.startswith("stackprobe_java_agent_"))
    assert int(told["stackprobe_java_agent_codes_given"]) >= agents["given"]
    assert int(told["stackprobe_java_agent_codes"]) > 100 and told["stackprobe_java_agent_codes_lost"] == "0"


class Abandoned:
    """VMs with agents whose daemons were killed. They stand still for the agent's minute, and so cost the
    other tests nothing."""

    def __init__(self):
        self.work, self.known = own_folder(), {}

    def of(self, java):
        """(VM, when the daemon was killed)"""
        if java not in self.known:
            folder = self.work / java.name
            folder.mkdir()
            one, daemon = Vm(java, folder), Daemon(folder).start()
            self.known[java] = one, None
            profile(daemon, one)
            wait_attached(daemon, one)
            assert one.reads() != []
            daemon.kill()
            daemon.done()
            assert one.left() != []
            os.kill(one.pid, signal.SIGSTOP)
            self.known[java] = one, time.monotonic()
        return self.known[java]

    def done(self):
        for one, _ in self.known.values():
            one.kill()
            for path in one.left():  # unless its test has seen it go
                shutil.rmtree(path)
        shutil.rmtree(self.work)


@pytest.fixture(scope="module")
def abandoned():
    reason = missing_privilege()
    if reason:
        pytest.skip(reason)
    made = Abandoned()
    yield made
    made.done()


def test_names_come_from_the_agent(profiler, vm, java, abandoned):
    abandoned.of(java)  # is looked at in the end
    one = vm()
    profile(profiler, one)
    wait_attached(profiler, one)
    assert_named(profiler, one)
    profiler.put_ok({"state": "stopped"})
    wait_for(lambda: one.left() == [], why="nothing is left")


def test_all_stop_when_another_source_is_asked_for(profiler, vm):
    one = vm()
    profile(profiler, one)
    wait_attached(profiler, one)
    profiler.put_ok({"params": {"java_source": "native"}})
    wait_for(lambda: one.left() == [] and agent_of(profiler, one) == "none")
    profiler.put_ok({"params": {"java_source": "agent"}})
    wait_attached(profiler, one)
    assert one.alive()


def children(daemon):
    return "".join(path.read_text() for path in Path(f"/proc/{daemon.pid}/task").glob("*/children"))


def open_files(daemon):
    found = []
    for fd in Path(f"/proc/{daemon.pid}/fd").iterdir():
        try:
            found.append(os.readlink(fd))
        except FileNotFoundError:
            pass
    return found


def test_a_folder_that_was_taken_away_is_made_again(profiler, vm):
    """As those do who clear /tmp. The interval alone is a change, too."""
    one = vm()
    profile(profiler, one)
    wait_attached(profiler, one)
    profiler.put_ok({"params": {"java_symbol_refresh_interval": 5}})
    shutil.rmtree(one.data)
    path = f"/tmp/java-data-{one.inner}/{java_symbols.NAME}"

    def is_read():
        profiler.folded()  # a window ends
        return path in open_files(profiler)  # and not "… (deleted)"

    wait_for(is_read, 60, every=0.5)
    profiler.put_ok({"state": "stopped"})
    wait_for(lambda: one.left() == [], why="nothing is left")


def test_the_agents_own_functions_have_names_and_unwind_rows():
    """They run in the VM, and are sampled there."""
    built = ROOT / "build/stackprobe-agent.so"

    def read(*options):
        return subprocess.run(["readelf", *options, built], capture_output=True, text=True, check=True).stdout

    symbols = [line.split() for line in read("-sW").split("\n") if " FUNC " in line]
    starts = {int(symbol[1], 16) for symbol in symbols}
    rows = {int(start, 16) for start in re.findall(r"FDE .* pc=([0-9a-f]+)\.\.", read("-wF"))}
    assert len(starts) > 30 and starts <= rows


def test_one_that_is_not_wanted_any_more_is_left(profiler, vm):
    one, other = vm(), vm()
    profile(profiler, one, other)
    wait_attached(profiler, one, other)
    profiler.put_ok({"snoopers": {"proc_id": [other.pid]}})
    profiler.folded()  # a window ends
    wait_for(lambda: one.left() == [], why="it is left")
    assert (other.data / java_symbols.NAME).exists()


def test_twenty_vms_of_which_some_cannot(profiler, vm):
    small = ("-Xmx16m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    good = [vm(*small) for _ in range(16)]
    off = [vm(*small, "-XX:+DisableAttachMechanism") for _ in range(2)]
    deaf = [vm(*small, "-Xrs") for _ in range(2)]
    profile(profiler, *good, *off, *deaf)
    wait_attached(profiler, *good, seconds=60)
    for some, reason in ((off, "failed: disabled"), (deaf, "failed: signals")):
        for one in some:
            wait_for(lambda: agent_of(profiler, one) == reason, why=reason)  # noqa: B023
    profiler.put_ok({"state": "stopped"})
    wait_for(lambda: not any(one.left() for one in good + off + deaf), why="nothing is left")
    wait_for(lambda: not children(profiler), why="who asked is buried")
    assert all(one.alive() for one in good + off + deaf)


def test_one_that_is_killed_leaves_nothing(profiler, vm):
    one = vm()
    profile(profiler, one)
    wait_attached(profiler, one)
    one.kill()
    assert Path(f"/tmp/java-data-{one.inner}").exists()

    def gone():
        profiler.folded()  # a window ends
        return one.left() == []

    wait_for(gone, every=0.5)


def test_a_hanging_vm_costs_nobody_else(profiler, vm):
    hung, other = vm(), vm()
    profile(profiler, hung)
    wait_for(lambda: profiler.probe()["samples"] > 0)
    os.kill(hung.pid, signal.SIGSTOP)
    profile(profiler, hung, other)
    wait_attached(profiler, other)
    os.kill(hung.pid, signal.SIGCONT)
    assert profiler.alive()


def test_a_daemon_that_ends_leaves_nothing(profiler, vm):
    one = vm()
    profile(profiler, one)
    wait_attached(profiler, one)
    profiler.stop()
    wait_for(lambda: one.left() == [], 20, why="nothing is left")


def test_in_namespaces_under_another_user(profiler, vm, work):
    work.chmod(0o755)
    script = ("mount -t tmpfs -o mode=1777 none /tmp && exec setpriv "
              f"--reuid={OTHER} --regid={OTHER} --clear-groups \"$@\"")  # fmt: skip
    one = vm(before=("unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", script, "sh"))
    profile(profiler, one)
    wait_attached(profiler, one)
    assert_named(profiler, one)
    profiler.put_ok({"state": "stopped"})
    wait_for(lambda: one.left() == [])


# Against what the program wrote down (test_java_truth.py). The agent came before its code was compiled;
# what is judged was sampled a while later.

SETTLED = 10  # seconds, in which the last of it is compiled
SAMPLED = 8  # and again until there are enough
LONGEST = 40  # the last one begins before
ENOUGH = 100  # samples of each leaf


class Told(JavaSession):
    flags = (WAITS,)

    def sampled(self, program):
        wait_for(lambda: "libjvm" in Path(f"/proc/{program.pid}/maps").read_text(), why="a VM")
        profile(self.daemon, program, thread_frame=1)
        go_when_told(self.daemon, program)
        time.sleep(SETTLED)
        judged, end = {}, time.monotonic() + LONGEST
        while time.monotonic() < end:
            stacks = self.sampled_now(program.pid)
            for leaf, found in Truth(program.written()).judged(stacks).items():
                judged[leaf] = merged([judged[leaf], found]) if leaf in judged else found
            if all(judged[leaf].total >= ENOUGH for leaf in judged if leaf != OUTSIDE):
                break
        return judged, self.daemon.config()["status"]["java"]["agents"]

    def sampled_now(self, pid):
        path = f"/flamegraph/oncpu.folded?seconds={SAMPLED}&pid={pid}"
        answer = self.daemon.get(path, timeout=SAMPLED + 30)
        assert answer.status == 200, answer.text
        return Profile(answer.text).stacks


told = session_of(Told)


HERE = javas()
each_java = pytest.mark.parametrize("java", HERE, ids=[java.name for java in HERE])


@each_java
@pytest.mark.parametrize("leaf", all_leaves())
def test_stacks_are_those_that_the_program_knows(told, java, leaf):
    found, _ = told.of(java)
    if leaf not in found:
        pytest.skip(f"Java {java.name} has no {leaf}")
    print(f"java_agent: {java.name} {leaf}: {found[leaf].text(1)}")
    total = found[leaf].total
    assert total >= ENOUGH
    assert found[leaf].share("right") >= 0.95, found[leaf].text()


@each_java
def test_each_frame_has_a_name(told, java):
    judged, agents = told.of(java)
    found = merged(judged.values())
    print(f"java_agent: {java.name} all: {found.text(0)}; {agents}")
    assert found.nameless <= 0.001 * found.total, found.text()
    assert found.share("right") >= 0.95, found.text()


# Last, for its minute is over by then


def test_after_a_daemon_that_was_killed_the_agent_ends_by_itself(abandoned, java):
    one, killed = abandoned.of(java)
    assert killed, "no agent was there"
    time.sleep(max(0, killed + 65 - time.monotonic()))
    assert one.left() != []
    os.kill(one.pid, signal.SIGCONT)
    one.be_late()  # something is compiled when the minute is over
    wait_for(lambda: one.left() == [], 40, every=0.5, why="the agent ends")
    assert one.alive() and one.reads() == []
