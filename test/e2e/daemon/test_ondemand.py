"""GET /flamegraph/oncpu.X with seconds=N: a session of its own, beside the configured one."""
import os
import signal
import time

import pytest

import oracle
from asking import Asked, burning, enough, sessions, stood, until_sampled, wait_sampling
from folded import Profile
from helpers import HZ, same_time, stopped, wait_burned, wait_for


def test_a_pid_that_is_no_target_is_profiled_while_nothing_is_configured(profiler, start, observe):
    target, other = stood(start), burning(start)
    observer, before, before_ns = observe(100), time.monotonic(), target.cpu_ns_now()
    session = Asked(profiler, seconds=4, pid=target.pid)
    wait_sampling(profiler)
    os.kill(target.pid, signal.SIGCONT)
    wait_burned(target.pid, seconds=0.5)
    oracle.stop(target.pid)
    in_time = time.monotonic() - before < 4  # else it burned after the session's end as well
    profile = Profile(session.result().text)
    assert time.monotonic() - before >= 4
    # Of fifty, taken in turns with others, four standard errors are more than half.
    ran = sorted([observer.samples(target.pid), (target.cpu_ns_now() - before_ns) / 1e7])
    assert profile.pids == {target.pid}
    assert other.pid not in profile.pids
    assert profile.total("main", "outer", "middle", "inner_spin") >= 0.9 * profile.total()
    assert (0.5 * ran[0] - 5 if in_time else 1) <= profile.total() <= 1.5 * ran[1] + 5
    assert profiler.get("/flamegraph").json() == {}


def test_the_selected_processes_are_profiled_where_no_pid_is_given(profiler, start):
    target, other = burning(start, "chosen"), burning(start)
    profiler.put_ok(profiler.wanting("^chosen$", state="stopped"))
    profile = enough(lambda: profiler.folded(seconds=1))
    assert profile.pids == {target.pid} != {other.pid}
    assert profiler.probe()["state"] == "stopped"


def test_without_a_pid_and_without_a_selection_it_is_refused(daemon):
    answer = daemon.get("/flamegraph/oncpu.folded?seconds=1")
    assert answer.status == 400
    assert answer.message


@pytest.mark.parametrize("seconds", ["0", "601", "-1", "x", "", "1e3", "99999999999999999999"])
def test_seconds_out_of_range_are_refused(daemon, seconds):
    daemon.put_ok(stopped())
    answer = daemon.get(f"/flamegraph/oncpu.folded?pid=1&seconds={seconds}")
    assert answer.status == 400
    assert answer.message


def test_a_pid_that_does_not_exist_is_refused_at_once(profiler, start):
    target = start("spin", 0)
    target.finish()
    before = time.monotonic()
    assert 400 <= profiler.get(f"/flamegraph/oncpu.svg?seconds=30&pid={target.pid}").status < 500
    assert time.monotonic() - before < 10


def test_the_configured_profile_is_neither_altered_nor_drained(profiler, start, observe):
    chosen = stood(start, "chosen")
    profiler.profile("^chosen$", frequency=HZ)
    other = burning(start)
    settings = profiler.settings()
    observer, before_ns = observe(HZ), chosen.cpu_ns_now()
    os.kill(chosen.pid, signal.SIGCONT)
    wait_burned(chosen.pid, seconds=0.3)
    first = profiler.folded()
    asked = [Asked(profiler, seconds=1, pid=pid) for pid in (other.pid, chosen.pid)]
    for pid, session in zip((other.pid, chosen.pid), asked):
        answer = session.result()
        assert answer.status == 200
        assert Profile(answer.text).pids <= {pid}
    assert profiler.settings() == settings
    assert set(profiler.processes()) <= {chosen.pid}
    wait_burned(chosen.pid, seconds=0.5)
    oracle.stop(chosen.pid)
    cpu_ns = chosen.cpu_ns_now() - before_ns
    profile = profiler.folded()
    assert profile.pids == {chosen.pid}
    assert profile.total() > first.total() > 0
    same_time(profile.total(), HZ, cpu_ns, observer.ns(chosen.pid), within=0.04)


def test_eight_run_at_once_and_the_ninth_is_told_to_wait(profiler, start):
    target = burning(start)
    eight = [Asked(profiler, seconds=8, pid=target.pid) for _ in range(8)]
    wait_for(lambda: sessions(profiler) == 8, every=0.1, why="all run")
    ninth = profiler.get(f"/flamegraph/oncpu.folded?seconds=1&pid={target.pid}")
    assert ninth.status == 429
    assert ninth.message
    assert profiler.alive()
    for session in eight:
        answer = session.result()
        assert answer.status == 200
        assert f"[{target.pid}]spin;" in answer.text
    assert enough(lambda: profiler.folded(seconds=1, pid=target.pid))


def test_a_session_whose_client_has_gone_makes_room(profiler, start):
    target = burning(start)
    for _ in range(8):
        with profiler.connect() as sock:
            request = f"GET /flamegraph/oncpu.folded?seconds=600&pid={target.pid} HTTP/1.1"
            sock.sendall(request.encode() + b"\r\nHost: localhost\r\n\r\n")
            wait_for(lambda: sessions(profiler) > 0, why="it runs")
    path = f"/flamegraph/oncpu.folded?seconds=1&pid={target.pid}"
    wait_for(lambda: profiler.get(path).status == 200, seconds=30, every=0.5, why="room")


def test_a_session_ends_with_its_process(profiler, start):
    """What there was of it until then is the answer."""
    target = burning(start)
    session = Asked(profiler, seconds=3, pid=target.pid)
    wait_sampling(profiler)
    wait_burned(target.pid, seconds=0.3)
    target.kill()
    profile = Profile(session.result().text)
    assert profile.total("inner_spin", pid=target.pid) >= 0.9 * profile.total() > 0


@pytest.mark.quick
@pytest.mark.parametrize("ending", ["svg", "json", "folded"])
def test_every_output_can_be_had_on_demand(profiler, start, ending):
    target = burning(start)

    def has_it():
        answer = Asked(profiler, ending, seconds=1, pid=target.pid).result()
        assert answer.status == 200
        return "inner_spin" in answer.text

    wait_for(has_it, why="a second in which it has burned")


def test_pid_narrows_the_configured_profile_to_one_process(profiler, start):
    profiler.profile("^spin$", frequency=500)
    targets = [start("spin", 600) for _ in range(2)]
    until_sampled(profiler, *targets)
    both = profiler.folded()
    for target in targets:
        one = profiler.folded(pid=target.pid)
        assert one.pids == {target.pid}
        assert one.total() == both.total(pid=target.pid) > 0
    everything = profiler.get("/flamegraph/oncpu.svg").text
    narrowed = profiler.get(f"/flamegraph/oncpu.svg?pid={targets[0].pid}").text
    assert f"[{targets[1].pid}]" in everything
    assert f"[{targets[1].pid}]" not in narrowed


def test_two_reads_of_the_same_window_are_the_same(profiler, start):
    profiler.profile("^spin$", frequency=500)
    until_sampled(profiler, start("spin", 600))
    first, second = (profiler.get("/flamegraph/oncpu.folded").text for _ in range(2))
    assert first == second != ""


def test_a_sigterm_does_not_wait_for_a_session(profiler, start):
    target = burning(start)
    session = Asked(profiler, "svg", seconds=600, pid=target.pid)
    wait_for(lambda: sessions(profiler) == 1, why="it runs")
    profiler.stop()
    session.result()
