"""What a profile's outputs have alike: a runtime's frames and what they weigh."""
import re


def json_weights(node, key, found=None):
    """{key: weight} of .json's nodes; key(node) is None for those that don't count."""
    found = {} if found is None else found
    of = key(node)
    if of:
        found[of] = found.get(of, 0) + node["total"]
    for child in node["children"]:
        json_weights(child, key, found)
    return found


def folded_weights(profile, key):
    """The same of folded text: key(frame)."""
    found = {}
    for stack in profile.stacks:
        for of in filter(None, map(key, stack.frames)):
            found[of] = found.get(of, 0) + stack.value
    return found


def tree_as_folded(profiler, pid, profile, node_key, frame_key):
    """.json, which says the same."""
    tree = profiler.get(f"/flamegraph/oncpu.json?pid={pid}").json()
    ours, theirs = json_weights(tree, node_key), folded_weights(profile, frame_key)
    assert ours == theirs, set(ours.items()) ^ set(theirs.items())
    return tree


def assert_outputs_agree(profiler, pid, profile, node_key, frame_key, shape, line):
    """All of them; `shape` is in the picture, `line` in .jsonl (regular expressions)."""
    total = tree_as_folded(profiler, pid, profile, node_key, frame_key)["total"]
    assert total == profile.total(), (total, profile.total())
    assert re.search(shape, profiler.get(f"/flamegraph/oncpu.svg?pid={pid}").text), shape
    assert re.search(line, profiler.get(f"/flamegraph/oncpu.jsonl?pid={pid}").text), line
