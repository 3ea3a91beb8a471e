"""`stackprobe render`: folded text to a picture."""
import collections
import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from helpers import BIN
from picture import Frame, Picture, frames_of, stacks_of

# FlameGraph's script: in PATH, told, or where Debian's libdevel-nytprof-perl has it.
SCRIPTS = (
    os.environ.get("FLAMEGRAPH_PL"),
    shutil.which("flamegraph.pl"),
    "/usr/share/perl5/Devel/NYTProf/flamegraph.pl",
)


def run(*args, text=b"", **more):
    """stackprobe render with `text` on standard input."""
    if isinstance(text, str):
        text = text.encode()
    argv = [str(BIN), "render", *map(str, args)]
    more.setdefault("stdout", subprocess.PIPE)
    return subprocess.run(
        argv, input=text, stderr=subprocess.PIPE, timeout=100, check=False, **more
    )


def render(*args, text=b""):
    ended = run(*args, text=text)
    assert ended.returncode == 0, ended.stderr
    return Picture(ended.stdout.decode())


def folded(stacks):
    return "".join(f"{';'.join(stack)} {value}\n" for stack, value in stacks.items())


def drawn(seed, count=3000, names=40, depth=30):
    """Folded text of skewed, shared, repeated stacks in random order."""
    rng = random.Random(seed)
    lines = []
    for _ in range(count):
        frames = [f"f{rng.randrange(2 + i % names):03}" for i in range(rng.randint(1, depth))]
        lines.append(f"{';'.join(frames)} {int(rng.paretovariate(1))}\n")
        if rng.random() < 0.2:
            lines.append(f"{';'.join(frames)} {rng.randint(1, 9)}\n")
    rng.shuffle(lines)
    return "".join(lines)


@pytest.mark.quick
@pytest.mark.parametrize("width, seed", [*((1200, seed) for seed in range(5)), (300, 5), (300, 6), (5000, 7)])
def test_the_frames_are_those_of_a_plain_tree(width, seed):
    text = drawn(seed)
    assert render("--width", width, text=text).frames == frames_of(stacks_of(text), width)


@pytest.mark.parametrize("seed", range(20))
def test_names_of_any_bytes_make_the_same_frames_as_a_plain_tree(seed):
    """Ends, separators, control bytes and long common beginnings at every offset of a word."""
    rng = random.Random(seed)
    letters = "ab.:\x01\x02\x09\x0b\x1f <&\u00e9\u65e5~"
    common = ["", "x" * rng.randint(1, 40), "y" * rng.randint(1, 40)]
    stacks = collections.Counter()
    for _ in range(400):
        frames = [rng.choice(common) + "".join(rng.choices(letters, k=rng.randint(0, 3)))
                  for _ in range(rng.randint(1, 7))]
        stacks[tuple(name or "e" for name in frames)] += rng.randint(1, 9)
    lines = folded(stacks).split("\n")[:-1]
    rng.shuffle(lines)
    shown = render(text="\n".join(lines)).frames
    clean = collections.Counter()  # XML has no control bytes: frames may look alike
    for frame, count in frames_of(stacks).items():
        clean[frame._replace(name=re.sub(r"[\x00-\x1f]", " ", frame.name))] += count
    assert shown == clean


@pytest.mark.parametrize("line", ["a;b 3", "a;b 3\n", "a;b 3\r\n", "a;b 3 \n", "a;b\t3\n"])
def test_a_line_may_end_in_any_of_the_usual_ways(line):
    wanted = collections.Counter([Frame(0, "all", 3), Frame(1, "a", 3), Frame(2, "b", 3)])
    assert render(text=line).frames == wanted


def test_a_stack_stands_before_what_stands_on_it_and_names_with_lesser_letters_apart():
    text = "a.x 1\na;b 3\na 5\na;b;c 2\na;b.c 1\na b 4\na;b 1\n"
    wanted = [("all", 0, 17), ("a.x", 1, 1), ("a", 1, 12), ("b", 2, 6), ("c", 3, 2),
              ("b.c", 2, 1), ("a b", 1, 4)]
    assert render(text=text).frames == collections.Counter(Frame(r, n, v) for n, r, v in wanted)


def test_frames_without_a_name_and_stacks_without_a_frame_keep_their_weight():
    wanted = [(0, "all", 12), (1, "", 4), (2, "a", 3), (1, "b", 5), (2, "", 2), (3, "", 2)]
    shown = render(text=";a 3\nb 3\nb;; 2\n 3\n; 1\n").frames
    assert shown == collections.Counter([Frame(*frame) for frame in wanted] + [Frame(2, "", 1)])


def test_kinds_are_told_by_suffix_and_titles_keep_it():
    text = "[12]app;main;run_[j];slow_[0];py_[p];in_[i];read_[k] 7\n[truncated];x_[w] 1\n"
    picture = render(text=text)
    kinds = {frame.name: name[0] for frame, name in picture.classes.items()}
    assert kinds == {
        "all": "p", "[12]app": "p", "main": "n", "run_[j]": "j", "slow_[0]": "t", "py_[p]": "y",
        "in_[i]": "i", "read_[k]": "k", "[truncated]": "m", "x_[w]": "n",
    }
    words = [text.text for text in picture.root.iter("{http://www.w3.org/2000/svg}text")]
    for legend in ("inlined", "interpreted", "Python", "JIT-compiled", "kernel", "marker"):
        assert legend in words
    assert "py" in words and "py_[p]" not in words


def test_title_width_unit_and_icicle_are_as_asked():
    text = "a;b 1234\n"
    picture = render("--title", "A <b> & c", "--width", 640, "--countname", "µs", text=text)
    assert picture.root.get("width") == "640" and picture.unit == "µs"
    assert "b (1,234 µs, 100.00%)" in picture.titles
    assert "A <b> & c" in [t.text for t in picture.root.iter("{http://www.w3.org/2000/svg}text")]
    icicle = render("--icicle", text=text)
    assert icicle.is_icicle and not picture.is_icicle
    assert icicle.frames == picture.frames
    assert min(icicle.boxes, key=lambda box: box[0])[3].name == "all"


def test_a_file_and_standard_input_make_the_same_bytes(work):
    text = drawn(1).encode()
    path = work / "in.folded"
    path.write_bytes(text)
    expected = run(text=text).stdout
    assert run(path).stdout == run("-", text=text).stdout == expected
    assert b"</svg>" in expected[-10:]
    os.mkfifo(work / "fifo")
    with subprocess.Popen([BIN, "render", work / "fifo"], stdout=subprocess.PIPE) as reader:
        (work / "fifo").write_bytes(text)
        assert reader.communicate()[0] == expected


@pytest.mark.parametrize("extra", [0, 1, 7, 8])
def test_a_text_that_ends_with_a_page_is_read_to_its_end(work, extra):
    path = work / "in.folded"
    path.write_bytes(b"a;" + b"x" * (4096 * 2 - 4 - extra) + b" 7")
    assert render(path).total == 7


BAD_LINES = {
    "no number": "just a name",
    "only a number": "42",
    "negative": "a;b -3",
    "hexadecimal": "a;b 0x3",
    "exponent": "a;b 1e3",
    "number first": "3 a;b",
    "a dot": "a;b .",
    "a fraction alone": "a;b .5",
    "letters behind it": "a;b 3s",
    "NUL behind it": "a;b 3\x00",
}


@pytest.mark.parametrize("line", BAD_LINES.values(), ids=BAD_LINES)
def test_what_is_no_folded_line_is_left_out_and_said(line):
    ended = run(text=f"a;b 2\n{line}\n\na;c 3\n")
    assert ended.returncode == 0
    assert b"ignored 1 lines" in ended.stderr
    assert Picture(ended.stdout.decode()).total == 5


@pytest.mark.parametrize(
    "lines, total",
    [
        (["a 18446744073709551616"], 0),
        (["a 99999999999999999999999999"], 0),
        (["a 18446744073709551615"], 18446744073709551615),
        (["a 18446744073709551615", "b 1"], 18446744073709551615),
        (["b 1", "a 1099511627775", "a 1099511627776"], 2199023255552),
    ],
)
def test_huge_weights_are_counted_whole_or_left_out(lines, total):
    ended = run(text="\n".join(lines))
    assert Picture(ended.stdout.decode()).total == total
    asked = sum(int(line.split()[1]) for line in lines)
    assert (b"ignored 1 lines" in ended.stderr) == (asked != total)


def test_fractions_are_left_out_and_said():
    ended = run(text="a 2.75\nb 3.\n")
    assert Picture(ended.stdout.decode()).total == 5
    assert b"fraction of the number in 2 lines" in ended.stderr


def test_hostile_names_bring_no_markup():
    names = ["</title><script>x</script>", "]]>", "&#1;&bad;", "\"'>", "\x01\x02\x7f", "<!--"]
    text = "".join(f"{name};leaf 3\n" for name in names).encode()
    text += b"\xff\xfe\xc0;\xed\xa0\x80 3\n\x00a\x00;b 3\n\xef\xbf\xbf 3\n"
    picture = render("--title", "]]><x>", "--countname", "<&>", text=text)
    assert picture.total == 3 * (len(names) + 3)
    assert len(list(picture.root.iter("{http://www.w3.org/2000/svg}script"))) == 1


def test_nothing_to_draw_makes_a_picture_that_says_so():
    for text in ("", "\n\r\n", "a;b 0\n"):
        ended = run(text=text)
        assert ended.returncode == 0 and not ended.stderr
        picture = Picture(ended.stdout.decode())
        assert picture.total == 0
        assert picture.root.find(".//*[@id='empty']").text == "no samples"


def test_a_stack_of_100000_frames_is_whole():
    picture = run(text=";".join(f"f{i}" for i in range(100000)) + " 1\n")
    assert picture.stdout.count(b"<title>") == 100001
    assert b">f99999 (1 samples, 100.00%)<" in picture.stdout


def test_stacks_that_each_begin_the_next_are_drawn():
    lines = [";".join("a" * depth) + f" {depth}" for depth in range(1, 600)]
    random.Random(3).shuffle(lines)
    text = "\n".join(lines)
    assert render(text=text).frames == frames_of(stacks_of(text))


def test_a_stack_over_16_mb_is_left_out_and_said():
    ended = run(text="a;b 2\n" + "x" * (1 << 24) + " 5\n")
    assert Picture(ended.stdout.decode()).total == 2
    assert b"ignored 1 lines" in ended.stderr


@pytest.mark.parametrize(
    "args",
    [["--bogus"], ["--width"], ["--width", "x"], ["--width", "99"], ["--width", "-1"],
     ["--width", "100001"], ["a", "b"], ["--negate"], ["--normalize"], ["--diff", "-"]],
    ids=" ".join,
)
def test_wrong_usage_is_status_two_and_says_why(args):
    ended = run(*args)
    assert ended.returncode == 2 and ended.stderr and not ended.stdout


def test_help_names_every_option():
    ended = run("--help")
    assert ended.returncode == 0
    for option in ("--title", "--width", "--diff", "--countname", "--icicle", "--html", "--negate"):
        assert option.encode() in ended.stdout


def test_what_cannot_be_read_or_written_is_status_one_and_says_so(work):
    (work / "in").write_text("a;b 1\n")
    for args in ([work / "missing"], [work], ["--diff", work / "missing", work / "in"]):
        ended = run(*args)
        assert ended.returncode == 1 and b"can't read" in ended.stderr and not ended.stdout
    with open("/dev/full", "wb") as full:
        ended = run(work / "in", stdout=full)
    assert ended.returncode == 1 and b"No space left" in ended.stderr
    reader, writer = os.pipe()
    os.close(reader)
    ended = run(work / "in", stdout=writer)
    os.close(writer)
    assert ended.returncode == 1 and b"Broken pipe" in ended.stderr


def test_a_file_that_shrinks_while_it_is_read_ends_with_a_message(work):
    """Its pages are gone when the text is looked at: no core dump, a sentence."""
    path = work / "in.folded"
    with open(path, "wb") as file:
        file.truncate(1 << 33)  # takes long enough to read
    with subprocess.Popen([BIN, "render", path], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as reader:
        maps = Path(f"/proc/{reader.pid}/maps")
        while str(path) not in maps.read_text():
            pass
        os.truncate(path, 4096)
        message = reader.communicate()[1]
        assert reader.returncode == 1
        assert b"shorter" in message


def sampled(distinct, paths=200, seed=1):
    """Folded text of samples drawn until so many stacks differ: mostly hot paths, and their leaves.

    Each path leaves an earlier one somewhere; how often one is taken falls with its rank. A sample
    ends below the path's end, more rarely the farther below, with up to three more frames.
    """
    rng = random.Random(seed)
    words = "handle parse read flush commit lookup insert merge encode compare allocate".split()
    names = [f"{rng.choice(words)}::{rng.choice(words)}_{rng.choice(words)}_{i}" for i in range(3000)]
    made = [["[1234]service", "main", "run_loop", *rng.sample(names, 20)]]
    while len(made) < paths:
        base = rng.choice(made)
        keep = rng.randint(3, len(base))
        made.append(base[:keep] + rng.sample(names, rng.randint(2, max(2, min(20, 44 - keep)))))
    rng.shuffle(made)
    ranks = [1 / (rank + 1) for rank in range(paths)]
    stacks = collections.Counter()
    while len(stacks) < distinct:
        path = rng.choices(made, ranks)[0]
        end = len(path) - min(int(rng.expovariate(0.3)), len(path) - 4)
        more = [names[(end * 7 + int(rng.expovariate(0.25))) % 3000]
                for _ in range(rng.randint(0, 3))]
        stacks[(*path[:end], *more)] += 1
    return stacks


def test_a_picture_of_10000_distinct_stacks_is_under_1_mb():
    """As samples are; equally heavy stacks are all drawn, 200,000 frames and more."""
    stacks = sampled(10000)
    ended = run(text=folded(stacks))
    assert Picture(ended.stdout.decode()).frames == frames_of(stacks)
    assert len(stacks) == 10000 and sum(map(len, stacks)) > 200000
    assert 4000 < ended.stdout.count(b"<title>")
    assert len(ended.stdout) < 1000000


# --- differences ---


def changes_of(after, before):
    """{path: change of its own weight}"""
    return {stack: after[stack] - before[stack] for stack in {*after, *before}}


def changed(seed):
    after = stacks_of(drawn(seed, count=400, depth=9))
    before = stacks_of(drawn(seed, count=300, depth=9)) + stacks_of(drawn(seed + 99, 50, depth=5))
    return after, before


def render_diff(work, after, before, *args):
    (work / "after").write_text(folded(after))
    (work / "before").write_text(folded(before))
    return render("--diff", work / "before", *args, work / "after")


def test_a_difference_has_the_widths_of_after_and_says_how_much_each_frame_changed(work):
    after = collections.Counter({("a", "b"): 60, ("a", "c"): 30, ("a",): 5, ("d",): 5})
    before = collections.Counter({("a", "b"): 40, ("a", "c"): 40, ("d",): 5, ("gone",): 20})
    picture = render_diff(work, after, before)
    assert picture.is_diff
    assert picture.frames == frames_of(after)
    by_name = {frame.name: frame for frame in picture.frames}
    changes = {name: picture.changes[frame] for name, frame in by_name.items()}
    assert changes == {"all": None, "a": "+5.00", "b": "+20.00", "c": "-10.00", "d": "0.00"}
    classes = {name: picture.classes[frame] for name, frame in by_name.items()}
    unchanged = {name: classes.pop(name)[0] for name in ("all", "d")}
    assert classes == {"a": "g2", "b": "g9", "c": "s5"}
    assert unchanged == {"all": "u", "d": "u"}


def test_the_other_way_round_the_colours_can_be_kept(work):
    after = collections.Counter({("a",): 60, ("b",): 40})
    before = collections.Counter({("a",): 40, ("b",): 40, ("gone",): 20})
    picture = render_diff(work, before, after, "--negate")
    assert {frame.name: picture.classes[frame][0] for frame in picture.frames} == {
        "all": "u", "a": "g", "b": "u", "gone": "s"}
    assert picture.changes[Frame(1, "gone", 20)] == "-20.00"


def test_before_is_scaled_to_after_when_asked(work):
    after = collections.Counter({("a",): 50, ("b",): 50})
    before = collections.Counter({("a",): 600, ("b",): 400})
    plain, scaled = render_diff(work, after, before), render_diff(work, after, before, "--normalize")
    assert {f.name: plain.changes[f] for f in plain.frames if f.row} == {
        "a": "-550.00", "b": "-350.00"}
    assert {f.name: scaled.changes[f] for f in scaled.frames if f.row} == {
        "a": "-10.00", "b": "+10.00"}


@pytest.mark.parametrize("seed", range(3))
def test_differences_are_those_of_each_stack(work, seed):
    after, before = changed(seed)
    picture, total = render_diff(work, after, before), sum(after.values())
    wanted = collections.Counter()
    weights = collections.Counter()
    for stack, value in after.items():
        for end in range(1, len(stack) + 1):
            weights[stack[:end]] += value
    changes = changes_of(after, before)
    for path, value in weights.items():
        if value * 11800 >= total:
            share = abs(changes.get(path, 0)) * 20000 // total
            wanted[Frame(len(path), path[-1], value), (share + 1) // 2] += 1
    shown = collections.Counter()
    for title, (row, _, _, frame) in zip(picture.titles, picture.boxes):
        if row:
            change = re.search(r"; [-+]?([\d.]+)%\)$", title)[1]
            shown[frame, round(float(change) * 100)] += 1
    assert shown == wanted


def test_a_difference_with_nothing_and_of_nothing_are_drawn(work):
    some = collections.Counter({("a",): 60})
    assert render_diff(work, some, collections.Counter()).changes[Frame(1, "a", 60)] == "+100.00"
    assert render_diff(work, collections.Counter(), some).total == 0
    assert render_diff(work, collections.Counter(), some, "--normalize").total == 0


# --- beside FlameGraph's script ---


@pytest.fixture
def script():
    found = next((path for path in SCRIPTS if path and Path(path).is_file()), None)
    if not found or not shutil.which("perl"):
        pytest.skip("no flamegraph.pl: not in PATH, in FLAMEGRAPH_PL or in libdevel-nytprof-perl")
    return found


def titles_of_script(script, text, *args):
    ended = subprocess.run(["perl", script, *args], input=text.encode(), capture_output=True,
                           timeout=100, check=True)
    return collections.Counter(re.findall(r"<title>(.*?)</title>", ended.stdout.decode()))


@pytest.mark.parametrize("seed", range(2))
def test_titles_equal_those_of_the_script(script, seed):
    """Names are equally long: the script splits a frame whose name begins another's."""
    text = drawn(seed)
    assert collections.Counter(render(text=text).titles) == titles_of_script(script, text)


def test_titles_of_a_difference_equal_those_of_the_script(script, work):
    after, before = changed(7)
    pairs = "".join(f"{';'.join(s)} {before[s]} {after[s]}\n" for s in {*after, *before})
    shown = render_diff(work, after, before).titles
    assert collections.Counter(shown) == titles_of_script(script, pairs)
