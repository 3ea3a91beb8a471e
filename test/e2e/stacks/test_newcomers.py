"""Programs that live for milliseconds: their first sample is whole and has names, by the tables that
other processes needed."""
import os
import platform

import pytest

from helpers import by_name_alone, wait_for
from whole import HZ, cut, share, truncated

KERNEL = tuple(int(part) for part in platform.release().split(".")[:2])
pytestmark = pytest.mark.skipif(KERNEL < (6, 1), reason="the kernel's list of mappings is no maple tree")


@pytest.fixture
def flash(profiler, start, copy, monkeypatch):
    """The program, profiled; a process of it has lived long enough for its table to be made."""
    path = copy("flash", f"flash{os.getpid()}")  # nobody else's
    profiler.profile(by_name_alone(f"^{path.name}$"), frequency=HZ, thread_frame=0)
    monkeypatch.setenv("FLASH_US", "60000000")
    first = start(path)

    def is_whole():
        profile = profiler.folded(pid=first.pid, seconds=1)
        return profile.total("[truncated]") == 0 < profile.total()

    wait_for(is_whole, why="its table is there")
    profiler.folded()
    return path, first


@pytest.mark.parametrize("us, rate, least, works", [(10000, 40, 0.97, 0.7), (1000, 150, 0.80, 0.4)])
def test_a_process_of_a_known_file_is_whole_from_its_first_sample(profiler, start, monkeypatch, flash, us,
                                                                  rate, least, works):  # fmt: skip
    path, first = flash
    monkeypatch.setenv("FLASH_US", str(us))
    start("storm", rate, 4, path).finish()
    after = profiler.folded()
    after.stacks = [s for s in after.stacks if not s.frames[0].startswith(f"[{first.pid}]")]
    assert after.total() >= 200, after.total()
    whole = 1 - after.total("[truncated]") / after.total()
    assert whole >= least, (whole, truncated(profiler), cut(after))
    assert after.total("[unknown]") <= 0.01 * after.total(), [s.frames for s in after.stacks][-5:]
    named = share(after, "main", "flash_outer", "flash_work")
    # (How much of its time a process needs to begin depends on the machine.)
    assert named >= max(works, 0.97 * share(after, "main")), (named, [(s.value, s.frames) for s in after.stacks][-8:])
