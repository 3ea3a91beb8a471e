"""Whose each output of a profile says that a process is: pod and container."""
import json
import re

import pprof
from folded import Profile


def get(daemon, probe, ending, view=None, **query):
    asked = {**({"view": view} if view else {}), **query}
    answer = daemon.get(f"/flamegraph/{probe}.{ending}?" + "&".join(f"{k}={v}" for k, v in asked.items()))
    assert answer.status == 200, answer.text
    return answer


def heads(node, above=()):
    """{pid: names above its process} of a tree of .json."""
    if node["kind"] == "process":
        return {int(re.match(r"\[(\d+)\]", node["name"])[1]): above}
    above += (node["name"],) if node["kind"] in ("pod", "container") else ()
    return {pid: names for child in node["children"] for pid, names in heads(child, above).items()}


def assert_placed(daemon, where, probe, view=None):
    """`where`: {pid: (pod, container, pid in it)}, each None where there is none."""
    profile = Profile(get(daemon, probe, "folded", view).text)
    assert {pid: profile.containers(pid) for pid in where} == {pid: {place[:2]} for pid, place in where.items()}
    names = {pid: tuple(f"[{kind}]{name}" for kind, name in zip(("Pod", "Con"), place[:2]) if name)
             for pid, place in where.items()}  # fmt: skip
    found = heads(get(daemon, probe, "json", view).json())
    assert {pid: found[pid] for pid in where} == names
    picture = get(daemon, probe, "svg", view).text
    for head in sum(names.values(), ()):
        assert f"<title>{head} (" in picture
    labelled = {}
    found = pprof.read(get(daemon, probe, "pb.gz", view).body)
    for sample in found.samples:
        of = found.labels(sample)
        if int(of["pid"]) in where:
            labelled[int(of["pid"])] = (of.get("pod"), of.get("container"), of.get("container_pid"))
        assert not re.match(r"\[(Pod|Con|\d+)\]", found.stack(sample)[0])
    assert labelled == {pid: (*place[:2], place[2] and str(place[2])) for pid, place in where.items()}
    records = {}
    for line in get(daemon, probe, "jsonl", view).text.splitlines():
        one = json.loads(line)
        if one["pid"] not in where:
            continue
        records[one["pid"]] = (one.get("pod"), one.get("container"), one.get("container_pid"))
        assert (one["container_id"] == "null") == (where[one["pid"]][1] is None)
    assert records == where
