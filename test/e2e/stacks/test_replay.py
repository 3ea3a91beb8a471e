"""Recorded samples: our unwinder gives the frames that elfutils' gives."""
import shutil
import subprocess
import sys

import pytest

from helpers import BIN, ROOT, missing_privilege

COMPARER = BIN.parent / "test/unwind/compare-unwind"


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """(what check-unwind said of a second of `levels`, the recording)"""
    work = tmp_path_factory.mktemp("replay")
    if not shutil.which("perf"):
        pytest.skip("perf is not installed")
    if missing_privilege():
        pytest.skip(missing_privilege())
    done = subprocess.run([sys.executable, ROOT / "test/unwind/check", COMPARER, "--only", "levels",
                           "--seconds", "1", "--least", "200", "--kinds", "5", "--folder", work,
                           "--keep", work], check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    return done, work / "levels.data"


def test_frames_of_a_recorded_program_are_those_of_elfutils(recording):
    done, _ = recording
    assert done.returncode == 0, done.stdout
    assert "1 passed, 0 failed, 0 skipped" in done.stdout


def test_a_recording_that_breaks_off_is_refused(recording):
    _, data = recording
    whole = data.read_bytes()
    for part in (len(whole) // 2, 104, 103, 8, 0):
        data.write_bytes(whole[:part])
        done = subprocess.run([COMPARER, data], check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        assert done.returncode == 2, part
        assert "compare-unwind: " in done.stderr
