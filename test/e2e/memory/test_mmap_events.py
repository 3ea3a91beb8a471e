"""What a program maps itself and gives back, range by range, as the kernel's side tells it."""
import json
import subprocess

import pytest

from helpers import BIN
from waiting import answer, let_go, ready

MAPS = BIN.parent / "test/memory/maps"
PAGE = 4096


@pytest.mark.parametrize("how", [[], ["plain"]])
def test_ranges_are_those_that_the_program_has(needs_bpf, start, how):
    target = ready(start, "ranges")
    argv = [MAPS, str(target.pid), *how]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as maps:
        assert maps.stdout.readline() == "ready\n"
        let_go(target)
        told = answer(target)
        maps.stdin.write("tell\n")
        maps.stdin.flush()
        seen = json.loads(maps.stdout.readline())
        maps.stdin.close()
    assert seen["lost"] == 0
    # (test/programs/memory/ranges.c). A mapping that has lost a part in the middle is two ranges.
    held = sorted([pages * PAGE, 1] for pages in (3, 16, 2, 7, 5, 1, 9, 9))
    held = sorted([*held, [5 * PAGE, 0], [8 * PAGE, 0]])
    assert sorted(seen["held"]) == held
    assert (seen["maps"], seen["bytes"]) == (told["maps"], told["bytes"])
    assert seen["came"] == told["maps"]
    assert seen["strange"] == 0 and seen["stacks"] > 0, "each stack is the program's"
    assert maps.returncode == 0
