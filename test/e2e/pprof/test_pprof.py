"""Profiles as pprof: the same as folded text has, with the places, files and lines of the code."""
import json
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

import pprof
from allocating import let, standing_by
from asking import burning
from helpers import BIN, HZ, PROGRAMS, ROOT, program, stopped, wait_burned, wait_for
from pprof_folded import as_folded, folded_as_pprof
from pprof_rules import check

GO = shutil.which("go")


def read(answer):
    assert answer.status == 200, answer.text
    assert answer.headers["Content-Type"] == "application/octet-stream"
    profile = pprof.read(answer.body)
    check(profile)
    return profile


def asked(profiler, target, seconds=1):
    return read(profiler.get(f"/flamegraph/oncpu.pb.gz?seconds={seconds}&pid={target.pid}"))


def so_far(profiler, target):
    return read(profiler.get(f"/flamegraph/oncpu.pb.gz?pid={target.pid}"))


def frames_named(profile, name):
    return {frame for frames in profile.frames_at.values() for frame in frames if frame.name == name}


def line_of(source, text):
    """The number of the line that has that text."""
    lines = Path(source).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def recorded(work, *command, event="oncpu", options=()):
    path = work / "recorded.pb.gz"
    subprocess.run([BIN, "record", "-q", "-e", event, "-F", str(HZ), *options, "-o", path, "--", *map(str, command)],
                   check=True, timeout=120)  # fmt: skip
    profile = pprof.read(path.read_bytes())
    check(profile)
    return profile


@pytest.mark.quick
def test_it_has_the_stacks_and_sums_of_folded_text(profiler, start):
    targets = burning(start, "one"), burning(start, "other")
    profiler.profile("^one$", "^other$", frequency=HZ, thread_frame=0)
    before = sum(target.cpu_ns_now() for target in targets)
    wait_for(lambda: sum(target.cpu_ns_now() for target in targets) > before + 1.5e9, 60)
    profiler.put_ok({"state": "stopped"})
    text = profiler.get("/flamegraph/oncpu.folded").text
    profile = read(profiler.get("/flamegraph/oncpu.pb.gz"))
    expected = folded_as_pprof(text)
    assert as_folded(profile, "samples") == expected
    assert sum(expected.values()) > 200
    period = 10**9 // HZ
    assert profile.period == period and tuple(profile.period_type) == ("cpu", "nanoseconds")
    assert profile.total("cpu") == profile.total("samples") * period
    assert {label["comm"] for label in map(profile.labels, profile.samples)} == {"one", "other"}


def test_one_process_is_chosen_and_threads_are_labels(profiler, start):
    target, _ = burning(start), burning(start)
    profile = wait_for(lambda: (profile := asked(profiler, target)).samples and profile, why="it had a CPU")
    labels = [profile.labels(sample) for sample in profile.samples]
    assert {label["pid"] for label in labels} == {str(target.pid)}
    assert {label["thread"] for label in labels} == {"spin"}


def test_native_code_has_its_file_and_line_and_what_is_inlined(work):
    source = ROOT / "test/programs/cpu/spin.c"
    profile = recorded(work, program("spin"), 1)
    for name, text in (("outer", "\tmiddle("), ("middle", "\tinner_spin("), ("inner_spin", "\tburn_ns(")):
        (frame,) = {frame for frame in frames_named(profile, name)}
        assert Path(frame.file).name == "spin.c" and frame.line == line_of(source, text), frame
    hot = max(profile.samples, key=lambda sample: sample.values[0])
    assert profile.stack(hot)[-3:] == ("inner_spin", "burn_ns", "burn_rounds")
    assert len(hot.locations) == len(profile.stack(hot)) - 2  # these two are inlined: one place


def test_places_are_those_of_the_file(work):
    """Addresses as the file was linked, its build id, and the segment that they lie in."""
    profile = recorded(work, program("spin"), 1)
    (mapping,) = [one for one in profile.mappings if one.file.endswith("/spin")]
    notes = subprocess.run(["readelf", "-n", program("spin")], capture_output=True, check=True, text=True).stdout
    assert mapping.build_id == re.search(r"Build ID: (\w+)", notes)[1]
    symbols = subprocess.run(["nm", "-S", program("spin")], capture_output=True, check=True, text=True).stdout
    start, size = re.search(r"^(\w+) (\w+) t inner_spin$", symbols, re.M).groups()
    inside = range(int(start, 16), int(start, 16) + int(size, 16))
    places = [one for one in profile.locations if profile.frames_at[one.id][-1].name == "inner_spin"]
    assert len(places) > 1, "several instructions of it were seen"
    for place in places:
        assert place.mapping == mapping.id and place.address in inside
        assert mapping.start <= place.address < mapping.limit
    segment = subprocess.run(["readelf", "-lW", program("spin")], capture_output=True, check=True, text=True).stdout
    offset, address = re.search(r"LOAD +(0x\w+) (0x\w+) 0x\w+ 0x\w+ 0x\w+ R E", segment).groups()
    assert (mapping.offset, mapping.start) == (int(offset, 16), int(address, 16))


def test_names_that_debug_files_share_are_known_where_these_are(profiler, start, copy, work):
    """As dwz leaves them: what several files have is in one, which their links name."""
    if not shutil.which("dwz"):
        pytest.skip("no dwz")
    files = [copy(name, "shares" if name == "spin" else name) for name in ("spin", "threads", "naps")]
    shared = work / "debug/.dwz/common"
    shared.parent.mkdir(parents=True)
    subprocess.run(["dwz", "-m", shared, "-M", "/usr/lib/debug/.dwz/common", *files], check=True)
    target = start(files[0], 60)

    def names():
        profile = so_far(profiler, target)
        return {name for name in ("inner_spin", "burn_ns", "burn_rounds") if frames_named(profile, name)}

    # (Reading files has a limit of time, which a busy host may not keep: then it is asked again.)
    for folder, wanted in ("", {"inner_spin"}), (str(work / "debug"), {"inner_spin", "burn_ns", "burn_rounds"}):
        profiler.profile({"comm": "^shares$", "cmdline": str(work), "debugging_dir": folder}, frequency=HZ)
        wait_burned(target.pid, seconds=1)
        wait_for(lambda wanted=wanted: names() == wanted, 60, 0.5, why=names)
        profiler.put_ok({"state": "stopped"})


SPINS = "%sint main(void)\n{\n\tfor (;;)\n\t\t__asm__ volatile(\"\");\n}\n"


def test_files_that_may_be_others_have_no_lines(profiler, start, work):
    """Two programs had one name, one after the other, and no build id."""
    path, seen = work / "unsaid", []
    for lines in ("", "\n" * 10):
        source = work / "unsaid.c"
        source.write_text(SPINS % lines)
        path.unlink(missing_ok=True)
        subprocess.run(["gcc", "-g", "-O1", "-Wl,--build-id=none", "-o", path, source], check=True)
        target = start(path)
        profiler.profile({"comm": "^unsaid$", "cmdline": str(work)}, frequency=HZ)
        wait_for(lambda target=target: target.cpu_ns_now() > 1e9)

        def found(target=target):
            return {frame.line for frame in frames_named(so_far(profiler, target), "main")}

        # Reading the first one's has a limit of time, which a busy host may not keep.
        seen.append(found() if lines else wait_for(lambda: (it := found()) and 0 not in it and it, 60, 0.5, why=found))
    assert seen[1] == {0}, seen


def test_a_program_of_go(work):
    if not (PROGRAMS / "gowork").exists():
        pytest.skip("no go")
    profile = recorded(work, program("gowork"), 2)
    mine = [frame for frames in profile.frames_at.values() for frame in frames if frame.name.startswith("main.")]
    assert mine and all(frame.file.endswith("/gowork.go") and frame.line > 0 for frame in mine), mine


def test_a_program_of_python(profiler, start, work):
    script = work / "busy.py"
    script.write_text("def inner():\n    for _ in range(1000000):\n        pass\n\n\nwhile True:\n    inner()\n")
    target = start("/usr/bin/python3", script)
    wait_for(lambda: target.cpu_ns_now() > 3e8)
    frames = wait_for(lambda: frames_named(asked(profiler, target, 2), "inner"), 60, why="its function")
    assert {Path(frame.file).name for frame in frames} == {"busy.py"}
    assert frames and {frame.line for frame in frames} <= {2, 3}


RUST = """struct Adder { sum: u64 }
impl Adder {
    #[inline(never)]
    fn add(&mut self, n: u64) {
        for i in 0..n {
            self.sum = unsafe { std::ptr::read_volatile(&self.sum) }.wrapping_add(i ^ n);
        }
    }
}
fn main() {
    let mut adder = Adder { sum: 0 };
    let begin = std::time::Instant::now();
    while begin.elapsed().as_millis() < 1500 {
        adder.add(10000000);
    }
    std::process::exit((adder.sum == 1) as i32);
}
"""


def test_a_program_of_rust(work):
    if not shutil.which("rustc"):
        pytest.skip("no rustc")
    (work / "adds.rs").write_text(RUST)
    subprocess.run(["rustc", "-O", "-g", "-o", work / "adds", work / "adds.rs"], check=True)
    profile = recorded(work, work / "adds")
    (name,) = {frame.name for frames in profile.frames_at.values() for frame in frames if "Adder" in frame.name}
    assert name == "adds::Adder::add"
    frames = frames_named(profile, name)
    assert all(frame.file.endswith("/adds.rs") for frame in frames)
    assert {frame.line for frame in frames} <= {4, 5, 6, 8} and 6 in {frame.line for frame in frames}


JAVA = """class Adds {
    static long sum;

    static void add(int n) {
        for (int i = 0; i < n; i++)
            sum += i ^ n;
    }

    public static void main(String[] args) {
        while (true)
            add(100000);
    }
}
"""


def test_a_program_of_java(profiler, start, work):
    if not shutil.which("javac"):
        pytest.skip("no javac")
    (work / "Adds.java").write_text(JAVA)
    subprocess.run(["javac", "-d", work, work / "Adds.java"], check=True)
    target = start(shutil.which("java"), "-Xint", "-cp", work, "Adds")  # (compiled: test_pprof_java.py)
    wait_burned(target.pid, seconds=1)

    def methods():
        profile = asked(profiler, target, 2)
        return frames_named(profile, "Adds.add") | frames_named(profile, "Adds.main")

    frames = wait_for(methods, 60, why="its methods")
    assert {frame.file for frame in frames} == {"Adds.java"}, frames
    lines = {frame.line for frame in frames}
    assert {5, 6} & lines and lines <= {5, 6, 7, 10, 11}, frames


def test_waits_and_memory_have_types_of_their_own(work):
    profile = recorded(work, "sleep", "0.3", event="offcpu")
    assert [tuple(one) for one in profile.sample_types] == [("waits", "count"), ("off_cpu", "nanoseconds")]
    assert profile.total("off_cpu") >= 3e8 and profile.total("off_cpu") % 1000 == 0
    profile = recorded(work, "/usr/bin/python3", "-c", "x = [bytearray(1 << 20) for _ in range(50)]", event="mem")
    assert [tuple(one) for one in profile.sample_types] == [("alloc_objects", "count"), ("alloc_space", "bytes")]
    assert profile.total("alloc_space") > 50 << 20


def test_go_reads_it_from_where_programs_of_go_have_theirs(go_pprof, profiler, start):
    if not GO:
        pytest.skip("no go")
    target = burning(start)
    url = f"http://127.0.0.1:{profiler.port}/debug/pprof/profile?seconds=1&pid={target.pid}"
    said = subprocess.run([GO, "tool", "pprof", "-top", "-nodecount=3", url], capture_output=True, text=True,
                          check=True, timeout=100)  # fmt: skip
    assert "Type: cpu" in said.stdout and re.search(r"100% +inner_spin", said.stdout) is None
    assert "burn_rounds" in said.stdout, said.stdout


def test_the_index_names_all_that_is_there(daemon):
    index = daemon.get("/debug/pprof/")
    assert index.status == 200 and index.headers["Content-Type"].startswith("text/html")
    names = re.findall(r'href="/debug/pprof/(\w+)"', index.text)
    assert names == ["profile", "offcpu", "heap", "allocs"]
    assert daemon.get("/debug/pprof/goroutine").status == 404
    assert daemon.get("/debug/pprof/profile?seconds=0").status == 400
    assert daemon.request("PUT", "/debug/pprof/profile", "{}").status == 405


def test_heaps_are_there_where_allocations_are_sampled(profiler, start):
    daemon = profiler
    daemon.put_ok(stopped())
    assert daemon.get("/debug/pprof/heap").status == 404
    target = start("/usr/bin/python3", "-c", "import time\nkept = [bytes(100000) for _ in range(300)]\ntime.sleep(30)")
    profile = read(daemon.get(f"/debug/pprof/heap?seconds=1&pid={target.pid}"))
    assert [tuple(one) for one in profile.sample_types] == [("inuse_objects", "count"), ("inuse_space", "bytes")]


def test_what_is_held_has_its_lines(profiler, start):
    """It is named at the end of the window it came in, and kept."""
    truth = let(standing_by(profiler, start, "heirs", "rest"))
    time.sleep(2)
    profile = read(profiler.get("/flamegraph/mem_glibc.pb.gz?view=inuse"))
    source = ROOT / "test/programs/memory/heirs.c"
    for name, text in (("before", "SITE(before)"), ("main", 'took("before"')):
        places = {(Path(frame.file).name, frame.line) for frame in frames_named(profile, name)}
        assert ("heirs.c", line_of(source, text)) in places
    folded = profiler.get("/flamegraph/mem_glibc.folded?view=inuse").text
    held = as_folded(profile, "inuse_space")
    assert held == folded_as_pprof(folded)
    assert sum(value for (_, stack), value in held.items() if "before" in stack) == truth["before"].held_bytes


def test_hostile_names_are_valid_texts(profiler, start, copy):
    name = b"a;b\xff\n\"<".decode("utf-8", "surrogateescape")
    target = start(copy("spin", name), 30)
    wait_for(lambda: target.cpu_ns_now() > 1e8)
    profile = wait_for(lambda: (profile := asked(profiler, target)).samples and profile, why="it had a CPU")
    (comm,) = {profile.labels(sample)["comm"] for sample in profile.samples}
    assert comm == 'a;b\ufffd\n"<'


def test_json_has_no_places(profiler, start):
    """What shows functions has each of them once."""
    target = burning(start)
    profiler.profile(pids=[target.pid], frequency=HZ)
    wait_burned(target.pid, seconds=0.5)
    tree = json.loads(profiler.get("/flamegraph/oncpu.json").text)
    nodes = [tree]
    for node in nodes:
        names = [(child["name"], child["kind"]) for child in node["children"]]
        assert len(set(names)) == len(names)
        nodes += node["children"]
