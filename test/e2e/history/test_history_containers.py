"""History of containers and pods: ranges of one, and two that are compared."""
from helpers import HZ, stopped, wait_for
from past import ask, ended, keeper, profile_of, stacks  # noqa: F401


def named(daemon, pid):
    """Whether the names of its container are known."""
    return ((daemon.processes().get(pid) or {}).get("container") or {}).get("name")


def changes(daemon, name, other, span):
    return ask(daemon, "/changes", probe="oncpu", container=name, before_container=other, before_from=span["from"],
               before_until=span["until"], **span).json()  # fmt: skip


def test_a_container_and_a_pod_have_their_ranges_and_are_compared(keeper, podman):
    daemon = keeper(window=1)
    pod = podman.pod()
    inside, alone = pod.run("c", "/opt/c_spin", 600), podman.run("c", "/opt/c_spin", 600)
    pids = inside.pid, alone.pid
    daemon.profile(pids=pids, frequency=HZ)
    wait_for(lambda: all(named(daemon, pid) for pid in pids), why="names")
    since = ended(daemon)[-1]["until"] if ended(daemon) else 0

    def after(pid):
        """Windows with samples of it, in which its container has its name."""
        return [window for window in ended(daemon, pid=pid) if window["from"] > since and window["weight"]]

    wait_for(lambda: all(len(after(pid)) >= 9 for pid in pids), 60, 0.2, why="windows of both")
    daemon.put_ok(stopped())
    wait_for(daemon.written)
    span = {"from": after(inside.pid)[1]["from"], "until": after(inside.pid)[-1]["until"]}
    of = {one: stacks(profile_of(daemon, pid=one.pid, **span)) for one in (inside, alone)}
    assert all(of.values())
    for name, one in ((inside.name, inside), (pod.name, inside), (alone.name, alone)):
        assert stacks(profile_of(daemon, container=name, **span)) == of[one], name
    assert {key[1] for key in of[inside]} == {inside.name} and {key[0] for key in of[inside]} == {pod.name}
    # Two at the same time; and one beside a name that nobody has.
    both = changes(daemon, inside.name, alone.name, span)
    assert both["before"]["from"] == both["after"]["from"] and both["tells"]
    assert not any(row["self"]["before"] == 0 for row in both["changes"] if row["name"] == "inner_spin")
    nobody = changes(daemon, inside.name, "nobody", span)
    (row,) = [row for row in nobody["changes"] if row["name"] == "inner_spin"]
    assert row["self"]["before"] == 0 < row["self"]["after"]
