"""Java stacks against what the program wrote down: class, method and line of each frame, in order; for
each kind of code (test/programs/java/truth/), as the VM is, with debug information everywhere, and with
frame pointers. All of it was compiled before the profile began."""
import pytest

from helpers import same_time
from java_session import JavaSession
from java_truth import OUTSIDE, Told, Truth, merged
from javas import MODES, all_leaves, javas, missing_releases
from kept import session_of

LEAST = 100  # samples of a leaf
ROOTED = 0.98  # of a leaf's; of all together:
ALL_ROOTED = 0.995
RIGHT = 0.98  # with those that end on their way to where the leaf has told its stack:
WHOLE = 0.95
# All that they burn is inlined into their turn; or is the class library's, inlined as the VM likes.
INLINED = ("truth.Inlined", "truth.Folded")
LIBRARY = ("truth.Stubs$Checksum", "truth.Stubs$Sine", "truth.Stubs$Big", "truth.Stubs$Digest",
           "truth.Stubs$Deflate", "truth.Stubs$Allocate", "truth.Stubs$Texts", "truth.Stubs$Copy",
           "truth.Calls$Thrown", "truth.Storms$Replaced", "truth.Storms$Trapped")  # fmt: skip


session = session_of(JavaSession)


HERE = javas()
each_java = pytest.mark.parametrize("java", HERE, ids=[java.name for java in HERE])
each_mode = pytest.mark.parametrize("mode", MODES)


@pytest.mark.parametrize("release", missing_releases())
def test_a_release_that_is_not_here(release):
    pytest.skip(f"no Java {release} here")


def judged_leaf(session, java, mode, leaf):
    found = session.of(java, mode).judged
    if leaf not in found:
        pytest.skip(f"Java {java.name} has no {leaf}")
    print(f"java_truth: {java.name} {mode} {leaf}: {found[leaf].text(1)}")
    assert found[leaf].total >= LEAST
    return found[leaf]


@each_java
@each_mode
@pytest.mark.parametrize("leaf", all_leaves())
def test_stacks_begin_where_the_thread_does(session, java, mode, leaf):
    found = judged_leaf(session, java, mode, leaf)
    assert found.root_share >= ROOTED, found.text()


@each_java
@each_mode
def test_all_stacks_together_begin_where_their_threads_do(session, java, mode):
    found = merged(session.of(java, mode).judged.values())
    print(f"java_truth: {java.name} {mode} all: {found.text(0)}")
    assert found.root_share >= ALL_ROOTED, found.text(4)


@each_java
@each_mode
def test_each_frame_has_a_name(session, java, mode):
    found = merged(session.of(java, mode).judged.values())
    assert found.nameless <= 0.001 * found.total, found.text()


@each_java
@each_mode
@pytest.mark.parametrize("leaf", all_leaves())
def test_stacks_are_those_that_the_program_knows(session, java, mode, leaf):
    """What is missing at the leaf is inlined code that the VM has no debug information for."""
    found = judged_leaf(session, java, mode, leaf)
    assert found.share("right", "short") >= RIGHT, found.text()
    if leaf not in INLINED + LIBRARY or mode == "points":
        assert found.share("right") >= WHOLE, found.text()


@each_java
def test_what_the_tables_cant_place_is_counted(session, java):
    """… and there is no other method's name in its place."""
    found = session.of(java, "plain")
    short = sum(found.judged[leaf].verdicts["short"] for leaf in INLINED)
    print(f"java_truth: {java.name} {short} short, {found.inline_unknown} inline_unknown")
    assert found.inline_unknown >= short
    assert not any(found.judged[leaf].verdicts["wrong"] for leaf in INLINED)


@each_java
def test_levels_are_those_that_were_asked_for(session, java):
    """Else the other tests would say nothing of interpreted code."""
    judged = session.of(java, "plain").judged
    interpreted = judged["truth.Interpreted"]
    assert interpreted.kinds["0"] >= 0.98 * interpreted.total, interpreted.text()
    for leaf in ("truth.Compiled", "truth.OnlyC1", "truth.Compiled$Large"):
        assert judged[leaf].kinds["j"] >= 0.9 * judged[leaf].total, judged[leaf].text()


@each_java
@each_mode
def test_threads_of_java_have_hardly_a_sample_outside_their_leaves(session, java, mode):
    judged = session.of(java, mode).judged
    outside, whole = judged[OUTSIDE].total, merged(judged.values()).total
    assert outside <= 0.03 * whole, judged[OUTSIDE].text()


@each_java
@each_mode
def test_shares_are_those_of_the_threads_clocks(session, java, mode):
    found = session.of(java, mode)
    samples, spent = sum(found.counts.values()), sum(found.clocks.values())
    for leaf, ns in found.clocks.items():
        part = ns / spent
        error = (part * (1 - part) / samples) ** 0.5
        off = found.counts[leaf] / samples - part
        # (A turn that had begun at either end is in the samples only.)
        assert abs(off) <= 4 * error + 0.001, (leaf, off / error, part, found.counts)


@each_java
@each_mode
def test_samples_are_cpu_time(session, java, mode):
    found = session.of(java, mode)
    same_time(sum(s.value for s in found.stacks), 997, found.cpu_ns, found.beside_ns)


# The checker itself

TOLD = {
    "hidden": True, "threads": ["leaf-0"], "width": 64, "clocks": [["truth.A"]],
    "leaves": {"truth.A": {"below": "^java\\.util\\.", "must": "", "partial": False, "stacks": [
        ["java.lang.Thread.run 1", "truth.Worker.run 2", "truth.A.turn 3", "truth.A$$Lambda$7/0x123.run -1",
         "truth.A.burn 4"]]}},
}  # fmt: skip
LINES = ["java.lang.Thread.run (Thread.java:1)_[0]", "truth.Worker.run (Worker.java:2)_[j]",
         "truth.A.turn (A.java:3)_[j]", "truth.A$$Lambda.run_[i]", "truth.A.burn (A.java:9)_[i]"]  # fmt: skip


def verdict(lines):
    from folded import Profile

    stacks = Profile(";".join(["[7]java", "leaf-0", "_start", *lines]) + " 3\n").stacks
    judged = Truth(TOLD).judged(stacks)
    (found,) = [one for one in judged.values() if one.total]
    ((word, _),) = found.verdicts.items()
    return word, found.root_share


def test_the_checker_knows_right_from_wrong():
    assert verdict(LINES) == ("right", 1)
    assert verdict([*LINES, "java.util.X.y (X.java:1)_[j]", "read_[k]"]) == ("right", 1)
    assert verdict([*LINES[:3], "Java_native", *LINES[3:]]) == ("right", 1)
    assert verdict(LINES[:3]) == ("short", 1)
    assert verdict([*LINES, "truth.B.y (X.java:1)_[j]"]) == ("wrong", 1)
    assert verdict([*LINES[:3], LINES[4]]) == ("wrong", 1)
    assert verdict(["[truncated]", *LINES]) == ("right", 0)
    assert verdict(LINES[1:]) == ("wrong", 0)
    assert verdict([LINES[0].replace(":1", ":5"), *LINES[1:]]) == ("line", 1)


def test_what_differs_between_runs_is_no_part_of_a_name():
    hidden = ["truth.Hidden/0x00007f6168010800", "truth.Hidden+0x7f61", "truth.Hidden.0x00007f6168010800"]
    for name in hidden:
        assert Told([name + ".inner 3"], True).frames == [("truth.Hidden.inner", 3)]
    for name in ("truth.A$$Lambda$74/0x00007f", "truth.A$$Lambda/0x1", "truth.A$$Lambda$74", "truth.A$$Lambda"):
        assert Told([name + ".run -1"], True).frames == [("truth.A$$Lambda.run", -1)]
