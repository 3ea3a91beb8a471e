# SPDX-License-Identifier: GPL-2.0-or-later
"""What guests sent back, read: profiles and their stacks. What can't be read, or isn't as it must be, is Wrong."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'e2e'))
import rooms  # noqa: E402, F401
from folded import Profile  # noqa: E402

LEAST = 100  # samples; 600 are asked for
CUT_MAX = 0.01


class Wrong(Exception):
    """Why a result is none."""


def need(condition, why):
    if not condition:
        raise Wrong(why)


def is_kernel(frame):
    return frame.endswith('_[k]')


def is_rooted(stack):
    """Begins in _start, behind the process and maybe the thread."""
    return '_start' in stack.frames[1:3]


def user_frames(stack):
    """Root first, without the process and the kernel's half."""
    return tuple(frame for frame in stack.frames[1:] if not is_kernel(frame))


def profile_of(result):
    lines = result.text.strip().splitlines()
    need(result.status == 0, 'status %d: %s' % (result.status, lines[-1] if lines else ''))
    try:
        profile = Profile(result.text)
    except AssertionError as error:
        raise Wrong(str(error)[:100]) from error
    need(profile.total() >= LEAST, 'only %d samples' % profile.total())
    return profile


def weight(profile, condition):
    return sum(s.value for s in profile.stacks if condition(s)) / profile.total()


def whole(profile):
    """What is cut, checked, as a text."""
    cut = profile.total('[truncated]') / profile.total()
    text = '%d samples, %.1f %% cut' % (profile.total(), 100 * cut)
    need(cut <= CUT_MAX, text)
    return text


def kernel_of(results):
    """(6, 12)"""
    return tuple(int(part) for part in results['uname'].text.split('.')[:2])
