"""A local user (nobody) asks for what is root's: over TCP and over the Unix socket."""
import contextlib
import json
import os
import signal
from pathlib import Path

import pytest

from askers import RESOURCES, SECOND_PATHS, WAYS, own, paranoid, running, theirs, to  # noqa: F401
from asking import burning, sessions
from folded import Profile
from helpers import stopped, wait_burned, wait_for
from somebody import NOBODY, answered, pids_in


# What another user may not


@pytest.mark.parametrize("way", WAYS)
def test_another_user_may_not_put(serve, somebody, work, way):
    daemon = serve()
    nobody = somebody(daemon)
    for path in ("/flamegraph", "/sched", "/FlameGraph"):
        answer = nobody.put(stopped(svg_dir=f"{work}/theirs"), path, to=to(nobody, way))
        assert answer.status == 403
        for word in (f"user {NOBODY}", "role admin", "admin_token_file", "doc/security.md"):
            assert word in answer.message
    assert daemon.get("/flamegraph").json() == {}
    assert not (work / "theirs").exists()


@pytest.mark.parametrize("way", WAYS)
def test_another_user_gets_neither_configurations_nor_profiles(running, somebody, way):
    nobody = somebody(running)
    statuses = {path: nobody.get(path, to=to(nobody, way)).status for path in RESOURCES}
    assert set(statuses.values()) == {403}, statuses
    assert running.get("/flamegraph/oncpu.folded").status == 200


def test_no_other_spelling_of_a_path_leads_around_that(running, somebody):
    nobody = somebody(running)
    for path in SECOND_PATHS:
        for method in ("GET", "HEAD", "PUT", "POST", "OPTIONS"):
            status = nobody.asking(path, method).result(30)[0]
            assert status in (400, 403, 404, 405, 503), (method, path, status)
    assert running.settings()["state"] == "running"


@pytest.mark.quick
@pytest.mark.parametrize("way", WAYS)
def test_another_user_sees_that_it_is_alive_and_counts_but_of_no_process(running, somebody, way):
    nobody = somebody(running)
    assert nobody.get("/healthz", to=to(nobody, way)).text == "ok\n"
    wait_for(lambda: running.target.pid in pids_in(running.get("/metrics").text), why="series of a process")
    for _ in range(3):  # what root was told isn't told again
        answer = nobody.get("/metrics", to=to(nobody, way))
        assert answer.status == 200
        assert "\nstackprobe_samples_total" in answer.text
        assert 'pid="' not in answer.text and 'comm="' not in answer.text
        assert running.target.pid in pids_in(running.get("/metrics").text)


def test_roots_commands_are_as_they_were(serve, somebody, work):
    daemon = serve()
    root = somebody(daemon, uid=0)
    for way in WAYS:
        assert root.put(stopped(), to=to(root, way)).status == 200
        assert root.get("/flamegraph", to=to(root, way)).json()["state"] == "stopped"


@pytest.mark.parametrize("bind", ["[::]", "[::1]"])
def test_users_are_known_over_ipv6_as_well(serve, somebody, bind):
    if not Path("/proc/net/if_inet6").exists():
        pytest.skip("no IPv6 here")
    daemon = serve(bind=bind)
    root, nobody = somebody(daemon, uid=0), somebody(daemon)
    for address in ("::1", "127.0.0.1")[: 2 if bind == "[::]" else 1]:
        there = [address, daemon.port]
        assert root.put(stopped(), to=there).status == 200
        assert nobody.put(stopped(), to=there).status == 403
        assert f"user {NOBODY}" in nobody.get("/flamegraph", to=there).message


# Processes of one's own


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("probe, name, args, frames", [
    ("oncpu", "spin", (60,), ("main", "outer", "middle", "inner_spin")),
    ("offcpu", "naps", ("10ms:6000",), ("main", "nap_10ms")),
])  # fmt: skip
def test_another_user_profiles_a_process_of_their_own(serve, needs_bpf, somebody, theirs, way, probe, name, args,
                                                      frames):  # fmt: skip
    daemon = serve()
    nobody = somebody(daemon)
    target = theirs(name, *args)
    if name == "naps":
        wait_for(lambda: "T" in Path(f"/proc/{target.pid}/stat").read_text(), why="it stands by")
        os.kill(target.pid, signal.SIGCONT)
    answer = nobody.get(own(probe, target.pid, 2), to=to(nobody, way))
    assert answer.status == 200, answer.text
    profile = Profile(answer.text)
    assert profile.pids == {target.pid}
    assert profile.total(*frames) > 0.5 * profile.total() > 0


def test_another_user_profiles_the_memory_of_a_process_of_their_own(serve, needs_bpf, somebody, theirs):
    daemon = serve()
    nobody = somebody(daemon)
    target = theirs("grow", "anon:64")
    wait_for(lambda: "T" in Path(f"/proc/{target.pid}/stat").read_text(), why="it stands by")
    session = nobody.asking(own("mem", target.pid, 8))
    wait_for(lambda: sessions(daemon) == 1, why="the session")
    wait_for(lambda: hooks(daemon), why="it counts page faults")
    os.kill(target.pid, signal.SIGCONT)
    profile = Profile(answered(session).text)
    assert profile.total("grow_anon") > 0


def hooks(daemon):
    """Whether BPF programs of its are loaded."""
    links = (os.readlink(fd) for fd in Path(f"/proc/{daemon.pid}/fd").iterdir())
    with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
        return any(link.startswith("anon_inode:bpf_link") or link == "anon_inode:bpf_link" for link in links)
    return False


@pytest.mark.parametrize("ending", ["svg", "json", "pb.gz", "jsonl"])
def test_each_output_of_it_is_to_be_had(serve, needs_bpf, somebody, theirs, ending):
    daemon = serve()
    target = theirs("spin", 60)
    wait_burned(target.pid, seconds=0.1)
    path = f"/flamegraph/oncpu.{ending}?pid={target.pid}&seconds=1"
    assert somebody(daemon).get(path).status == 200


def test_nothing_is_put_into_the_library_that_others_have_as_well(serve, somebody, theirs):
    nobody = somebody(serve())
    target = theirs("spin", 60)
    for path in (own("mem_glibc", target.pid), f"/debug/pprof/heap?pid={target.pid}&seconds=1",
                 f"/sched/runqlat.json?pid={target.pid}&seconds=1"):  # fmt: skip
        assert nobody.get(path).status == 403, path
    # what was collected before may be of somebody else who had that number
    assert nobody.get(f"/flamegraph/oncpu.folded?pid={target.pid}").status == 403


def test_nor_is_one_of_another_group_than_the_users(serve, needs_bpf, somebody, start):
    """What a set-gid program starts has that group's rights. Over TCP the user's group is that of /etc/passwd."""
    daemon = serve()
    nobody, member = somebody(daemon), somebody(daemon, gid=1)
    target = start("spin", 60, user=NOBODY, group=1, extra_groups=[], cwd="/")
    wait_burned(target.pid, seconds=0.1)
    rows = [(nobody, nobody.socket, 403), (nobody, nobody.tcp, 403), (member, member.tcp, 403),
            (member, member.socket, 200)]  # fmt: skip
    for one, way, status in rows:
        assert one.get(own("oncpu", target.pid), to=way).status == status, way


def test_a_process_of_another_user_and_one_that_does_not_exist_are_refused_in_the_same_words(serve, somebody, start):
    nobody = somebody(serve())
    gone = start("spin", 0)
    gone.finish()
    others = [burning(start).pid, 1, os.getpid(), gone.pid, 4194304, 99999999, 1 << 40]
    words = set()
    for pid in others:
        answer = nobody.get(own("oncpu", pid))
        assert answer.status == 403, (pid, answer.text)
        words.add(answer.message.replace(str(pid), "PID"))
    assert len(words) == 1


def test_two_pids_do_not_smuggle_one_in(serve, needs_bpf, somebody, theirs, start):
    daemon = serve()
    nobody = somebody(daemon)
    mine, other = theirs("spin", 60), burning(start)
    for query in (f"pid={mine.pid}&pid={other.pid}", f"pid={other.pid}&pid={mine.pid}",
                  f"pid={mine.pid}&PID={other.pid}", f"pid={mine.pid + (1 << 32)}"):  # fmt: skip
        answer = nobody.get(f"/flamegraph/oncpu.folded?{query}&seconds=1")
        assert answer.status in (200, 400, 403)
        assert answer.status != 200 or Profile(answer.text).pids <= {mine.pid}


@pytest.mark.parametrize("level, seen", [(2, False), (3, False), (1, True), (-1, True)])
def test_the_kernels_functions_are_seen_where_the_kernel_lets_that_user(serve, needs_bpf, somebody, theirs, paranoid,
                                                                       level, seen):  # fmt: skip
    daemon = serve()
    nobody = somebody(daemon)
    paranoid(level)
    target = theirs("syscalls", 60)
    wait_burned(target.pid, seconds=0.1)
    profile = Profile(nobody.get(own("oncpu", target.pid, 2)).text)
    assert profile.total("read_block") > 0.7 * profile.total() > 0  # on a busy host there are some ten samples
    in_kernel = [stack for stack in profile.stacks if any(f.endswith("_[k]") for f in stack.frames)]
    assert bool(in_kernel) == seen
    assert "_[k]" in daemon.get(own("oncpu", target.pid)).text


def test_where_it_waits_in_the_kernel_is_hidden_as_well(serve, needs_bpf, somebody, theirs, paranoid):
    daemon = serve()
    nobody = somebody(daemon)
    target = theirs("naps", "10ms:6000")
    wait_for(lambda: "T" in Path(f"/proc/{target.pid}/stat").read_text(), why="it stands by")
    os.kill(target.pid, signal.SIGCONT)
    for level, seen in ((2, False), (1, True)):
        paranoid(level)
        for ending in ("folded", "svg", "json", "jsonl"):
            path = own("offcpu", target.pid).replace("folded", ending)
            answer = nobody.get(path)
            assert answer.status == 200 and "nap_10ms" in answer.text
            assert ("schedule" in answer.text) == seen, (level, ending)


# Who has gone


def test_ten_thousand_puts_of_a_client_that_goes_at_once_are_not_taken(serve, somebody):
    """Of a socket that no process has any more the kernel says that it is root's."""
    daemon = serve()
    nobody = somebody(daemon)
    body = "json=" + json.dumps(stopped("^theirs$"))
    text = f"PUT /flamegraph HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    sent, refused = nobody.do("put_and_go", to=nobody.tcp, text=text, times=10_000)
    assert sent > 9000, (sent, refused)
    assert daemon.get("/flamegraph").json() == {}
    assert "New config" not in daemon.log and "new config" not in daemon.log
    assert daemon.alive()


def test_nor_are_those_over_the_unix_socket(serve, somebody):
    daemon = serve()
    nobody = somebody(daemon)
    body = "json=" + json.dumps(stopped("^theirs$"))
    text = f"PUT /flamegraph HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    sent, _ = nobody.do("put_and_go", to=nobody.socket, text=text, times=2000)
    assert sent > 0
    assert daemon.get("/flamegraph").json() == {}
    assert daemon.alive()
