# SPDX-License-Identifier: GPL-2.0-only
"""What is tried in each guest, and what must be found."""
import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'e2e'))
from folded import Profile  # noqa: E402

SECONDS_EACH = 6
LEAST = 100  # samples; 600 are asked for
CUT_MAX = 0.01
SHARE_MIN = 0.98
PROGRAMS = ['chain', 'frames', 'altstack', 'syscalls', 'strands']
FOREVER = 1000
DEPTHS = [20, 150, 250, 996]


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


def chain(depth):
    """The frames of `chain DEPTH` below main."""
    return ('main', *('f%03d' % n for n in range(depth - 1)), 'bottom')


def check_chain(result, depth):
    """Every frame in its order from _start on, and none that was not there."""
    profile, known = profile_of(result), chain(depth)
    at = {frame: number for number, frame in enumerate(known)}
    for stack in profile.stacks:
        mine = [at[frame] for frame in user_frames(stack) if frame in at]
        need(all(b == a + 1 for a, b in zip(mine, mine[1:])), 'frames out of order')
    said = whole(profile)
    exact = weight(profile, lambda s: is_rooted(s) and s.has(*known))
    need(exact >= SHARE_MIN, '%.1f %% have all frames' % (100 * exact))
    return said


def check_frames(result):
    profile = profile_of(result)
    said = whole(profile)
    share = weight(profile, lambda s: is_rooted(s) and s.has(
        'main', 'vla_frame', 'many_arguments', 'big_frame', 'drap_frame', 'aligned_frame', 'bottom'))
    need(share >= SHARE_MIN, '%.1f %% have all frames' % (100 * share))
    return said


def check_altstack(result):
    """The handler is on one stack, what it interrupted on another: both are there, in this order."""
    profile = profile_of(result)
    said = whole(profile)
    before = ('main', 'outer', 'victim', 'forbidden')
    handled = [s for s in profile.stacks if s.has('handler', 'handler_work')]
    both = [s for s in handled if s.has(*before) and
            s.frames.index('forbidden') < s.frames.index('handler') and is_rooted(s)]
    share = sum(s.value for s in handled) / profile.total()
    need(share >= 0.5, '%.1f %% in the handler' % (100 * share))
    shown = sum(s.value for s in both) / sum(s.value for s in handled)
    need(shown >= SHARE_MIN, '%.1f %% show both sides' % (100 * shown))
    return said


def check_syscalls(result):
    """The kernel's frames lie over the user's."""
    profile = profile_of(result)
    said = whole(profile)

    def kernel_over_user(stack):
        kinds = [is_kernel(frame) for frame in stack.frames[1:]]
        return any(kinds) and kinds == sorted(kinds)

    share = weight(profile, lambda s: kernel_over_user(s) and is_rooted(s) and
                   s.has('main', 'drain_zero', 'read_block'))
    need(share >= 0.9, '%.1f %% in the kernel' % (100 * share))
    named = weight(profile, lambda s: any(re.match(r'(read|clear|iov_iter|.*zero)', f)
                                          for f in s.frames if is_kernel(f)))
    need(named >= 0.5, '%.1f %% name what is read' % (100 * named))
    return said


def check_strands(result):
    profile = profile_of(result)
    said = whole(profile)
    for pair in (('run', 'thread_work'), ('run_cloned', 'clone_work')):
        share = profile.total(*pair) / profile.total()
        need(share >= 0.35, '%.1f %% in %s' % (100 * share, pair[0]))
    return said


def check_doctor(result):
    lines = result.text.splitlines()
    oncpu = re.search(r'^ +oncpu +(\w+) +(.*)$', result.text, re.MULTILINE)
    need(oncpu and oncpu[1] in ('yes', 'limited'), 'oncpu: %s' % (oncpu and oncpu[0].strip()))
    need(result.status == 0, 'status %d: %s' % (result.status, lines[-1]))
    need(re.search(r'^ +btf +yes', result.text, re.MULTILINE), 'no BTF')
    without = re.findall(r'^  (\w+) +no ', result.text.partition('\nhooks')[2], re.MULTILINE)
    return 'oncpu %s; without %s' % (oncpu[1], ', '.join(without) or 'nothing')


def check_load(result):
    need(result.status == 0, result.text.strip()[-200:])
    before, after = result.text.split()[:2]
    return '%.2f s until all was armed' % ((int(after) - int(before)) / 100)


def check_served(results, name, depth):
    answer = results[name + '-answer']
    need(answer.status == 0 and '"success"' in answer.text, 'PUT: %s' % (answer.text or 'no answer'))
    said = check_chain(results[name], depth)
    status = results[name + '-status']
    need(json.loads(status.text).get('status'), 'GET has no status')
    need(status.status == 0, 'the daemon ended with %d' % status.status)
    return said


def cases():
    """Name, the guest's command, and the check of all results."""
    def one(name, command, check, *more):
        return name, command, lambda results: check(results[name], *more)

    def recorded(name, program, check, *more):
        return one(name, 'recorded %s %s' % (name, program), check, *more)

    return [
        one('doctor', 'doctor doctor', check_doctor),
        one('load', 'load load', check_load),
        *(recorded('chain-%d' % depth, 'chain %d %d' % (depth, FOREVER), check_chain, depth)
          for depth in DEPTHS),
        recorded('frames', 'frames %d' % FOREVER, check_frames),
        recorded('altstack', 'altstack fault %d' % FOREVER, check_altstack),
        recorded('syscalls', 'syscalls %d' % FOREVER, check_syscalls),
        recorded('strands', 'strands %d' % FOREVER, check_strands),
        ('daemon', 'served daemon chain 20 %d' % FOREVER,
         lambda results: check_served(results, 'daemon', 20)),
    ]


def commands():
    """What /init runs."""
    return 'SECONDS_EACH=%d\n' % SECONDS_EACH + ''.join(
        '%s\n' % command for _, command, _ in cases())


def judge(results):
    """(name, passed, text) of each case."""
    for name, _, check in cases():
        try:
            yield name, True, check(results)
        except Wrong as wrong:
            yield name, False, str(wrong)
        except (KeyError, ValueError) as error:
            yield name, False, 'no result: %r' % error
