"""What the daemon holds on to on a busy host, and no name less for it. (Files: test_descriptors.py.)"""
import bisect
import collections
import re
import shutil
import struct
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import scene
from beside import own_folder
from helpers import SAN, Daemon, missing_privilege

pytestmark = pytest.mark.alone("fifty busy programs take all processors")

HZ = 999
WINDOWS = 3
WINDOWS_MAX = 12
WINDOW_SECONDS = 4
RESIDENT_MAX_KB = 30 * 1024
SHT_SYMTAB, SHT_DYNSYM, STT_FUNC, STT_GNU_IFUNC = 2, 11, 2, 10  # elf.h


def status_kb(pid, field):
    return int(re.search(rf"{field}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])


def mapped_files(pid):
    """{last part of the path: path} of what a process has mapped."""
    maps = Path(f"/proc/{pid}/maps").read_text()
    code = [line for line in maps.splitlines() if " r-xp " in line and "/" in line]
    paths = {line.split(maxsplit=5)[5] for line in code}
    return {Path(path).name: path for path in paths}


def late(daemon):
    """Addresses whose file wasn't read in time, as others waited for the window's end; the next window has them."""
    return daemon.config()["status"]["symbols_lost"]["file_late"]


def came(before, after):
    """The stacks of the time between two profiles."""
    values = {(stack.pod, stack.container, stack.frames): stack.value for stack in before.stacks}
    more = ((stack, stack.value - values.get((stack.pod, stack.container, stack.frames), 0)) for stack in after.stacks)
    return [stack._replace(value=value) for stack, value in more if value > 0]


@pytest.fixture(scope="module")
def busy_host():
    """Fifty targets, profiled for three windows and more, until a window has all files in time."""
    reason = missing_privilege()
    if reason:
        pytest.skip(reason)
    work = own_folder()
    targets = scene.Scene(work)
    daemon = Daemon(work)
    try:
        targets.start()
        daemon.start()
        daemon.profile(pids=targets.all_pids(), frequency=HZ)
        windows, losses = [daemon.folded()], [late(daemon)]
        while len(windows) <= WINDOWS or losses[-1] > losses[-2]:
            assert len(windows) <= WINDOWS_MAX, f"files come late in each window: {losses}"
            time.sleep(WINDOW_SECONDS)
            windows.append(daemon.folded())
            losses.append(late(daemon))
        resident_kb = status_kb(daemon.pid, "VmRSS")
        files = {name: mapped_files(pids[0]) for name, pids in targets.pids.items() if pids}
        yield SimpleNamespace(
            targets=targets, stacks=came(*windows[-2:]), resident_kb=resident_kb, files=files,
            lost=daemon.config()["status"]["symbols_lost"],
        )  # fmt: skip
    finally:
        targets.stop()
        if daemon.popen:
            daemon.done()
        shutil.rmtree(work)


def test_with_fifty_targets_of_ten_programs_it_stays_under_thirty_megabytes(busy_host):
    if SAN:
        pytest.skip("a sanitizer needs memory of its own")
    assert busy_host.resident_kb <= RESIDENT_MAX_KB
    if busy_host.targets.missing:
        pytest.skip(f"not installed, so not among them: {sorted(busy_host.targets.missing)}")
    assert len(busy_host.targets.all_pids()) == 50


def with_symbol(path, addresses):
    """Of these addresses those that lie in a function with a size, by the symbol tables of an ELF
    file, read without the daemon's code."""
    image, found, addresses = Path(path).read_bytes(), set(), sorted(addresses)
    sections_at, size, count = struct.unpack_from("<Q10xHH", image, 40)
    for number in range(count):
        kind, offset, length = struct.unpack_from("<4xI16xQQ", image, sections_at + number * size)
        if kind not in (SHT_SYMTAB, SHT_DYNSYM):
            continue
        symbols = struct.iter_unpack("<4xBxHQQ", image[offset : offset + length])
        for info, section, start, function_bytes in symbols:
            if info & 15 in (STT_FUNC, STT_GNU_IFUNC) and section and function_bytes:
                first = bisect.bisect_left(addresses, start)
                end = bisect.bisect_left(addresses, start + function_bytes)
                found.update(addresses[first:end])
    return found


def unnamed(stacks):
    """{(module, address)} of the frames without a symbol; address None: nothing is known of it."""
    found = set()
    for stack in stacks:
        for frame in stack.frames:
            if match := re.fullmatch(r"\[([^\[\]+]+)\+0x([0-9a-f]+)\]", frame):
                found.add((match[1], int(match[2], 16)))
            elif match := re.fullmatch(r"\[([^\[\]]+\.so[.\d]*|[\w-]+)\]", frame):
                found.add((match[1], None))
    markers = ("truncated", "unknown", "jit", "vsyscall", "jvm", "java", "python")
    return found - {(marker, None) for marker in markers}


@pytest.mark.parametrize("name", scene.COUNTS)
def test_every_native_function_that_has_a_symbol_is_named(busy_host, name):
    if name in busy_host.targets.missing:
        pytest.skip(f"{name} is not installed")
    pids = tuple(f"[{pid}]" for pid in busy_host.targets.pids[name])
    stacks = [s for s in busy_host.stacks if s.frames[0].startswith(pids)]
    assert stacks, "it ran"
    addresses = collections.defaultdict(set)
    for module, address in unnamed(stacks):
        assert address is not None, f"{module} was not read: {busy_host.lost}"
        addresses[module].add(address)
    for module, path in busy_host.files[name].items():
        missed = with_symbol(path, addresses[module]) if module in addresses else set()
        assert not missed, f"{module} has symbols at {[hex(address) for address in missed]}"


def test_the_program_with_a_hundred_megabytes_of_debug_data_has_its_names(busy_host):
    if "bigcxx" in busy_host.targets.missing:
        pytest.skip("g++ is not installed")
    assert Path(busy_host.files["bigcxx"]["bigcxx"]).stat().st_size > 100 << 20
    mine = [s for s in busy_host.stacks if s.frames[0].endswith("]bigcxx")]
    named = [s for s in mine if re.match(r"shop::inventory::detail::Compartment\d+<", s.frames[-1])]
    user = [s for s in mine if not s.frames[-1].endswith("_[k]")]
    assert len({s.frames[-1] for s in named}) > 20
    assert sum(s.value for s in named) >= 0.95 * sum(s.value for s in user)
