# SPDX-License-Identifier: GPL-2.0-or-later
"""The case `disks`: blkio, writeback and readahead beside what the guest's kernel counts of its disks."""
import json
import re

from guest_results import Profile, kernel_of, need


def of_dd(text, *leaves):
    """What all stacks of dd that end so weigh together."""
    return sum(stack.value for stack in Profile(text).stacks
               if ']dd' in stack.frames[0] and tuple(stack.frames[-len(leaves):]) == leaves)


def moved_sectors(result):
    """Bytes that the disk read and wrote, by /proc/diskstats."""
    before, after = ([int(word) for word in line.split()] for line in result.text.splitlines())
    return tuple(512 * (now - then) for now, then in zip(after, before))


def check_disks(results):
    """blkio's bytes are those of /proc/diskstats, writeback's those of the writer's /proc/PID/io, readahead's pages those
    of the disk; what a disk without requests takes is told as unseen."""
    if results['disks-disk'].status:
        return 'skipped: no loop device: %s' % results['disks-disk'].text.strip()
    for name in ('back', 'direct', 'dirty', 'pages'):
        need(results['disks-' + name].status == 0, '%s: %s' % (name, results['disks-' + name].text[-200:]))
    _, written = moved_sectors(results['disks-back-known'])
    seen = of_dd(results['disks-back'].text, '[write]', '[loop0]')
    need(seen == written == 4096000, 'written back: %d bytes, the disk says %d' % (seen, written))
    direct = moved_sectors(results['disks-direct-known'])
    seen = tuple(of_dd(results['disks-direct'].text, way, '[loop0]') for way in ('[read]', '[write]'))
    need(seen == direct == (1 << 20, 1 << 20), 'direct: %s bytes, the disk says %s' % (seen, direct))
    own = int(re.search(r'^write_bytes: ([0-9]+)$', results['disks-io'].text, re.MULTILINE)[1])
    dirty = sum(s.value for s in Profile(results['disks-dirty'].text).stacks)
    need(dirty == own == 409600, 'made dirty: %d bytes, its write_bytes say %d' % (dirty, own))
    pages = sum(of_dd(results['disks-pages'].text, leaf) for leaf in ('[asked]', '[ahead]', '[asked or ahead]'))
    need(pages == 2048, '%d pages read of 2048' % pages)
    return '%d bytes written back, %d pages; %s' % (written, pages, unseen_of_disks(results))


def unseen_of_disks(results):
    """Checks what disks without requests took of a shell, and what the disk below one of them has; as a text."""
    status = json.loads(results['disks-status'].text)['status']['probes']['blkio']
    each = 409600
    bare, stacked = (0 if results['disks-' + kind].status else each for kind in ('bare', 'stacked'))
    # Before 5.15 nothing tells that a disk consists of others.
    known = {'no_requests': bare, 'disks_below': stacked}
    if kernel_of(results) < (5, 15):
        known = {'no_requests': bare + stacked, 'disks_below': 0}
    need(status['unseen_bytes'] == known, 'unseen: %s, not %s; %s' % (status, known, results['disks-answer'].text))
    need(not any(status['lost'].values()), str(status['lost']))
    below = Profile(results['disks-below'].text).total('[write]', '[loop0]') if stacked else 0
    need(below == stacked, '%d bytes on the disk below' % below)
    return ', '.join('%d bytes %s' % (taken, what) if taken else 'nothing %s: %s' % (what, results['disks-' + kind].text.strip())
                     for taken, what, kind in ((bare, 'unseen', 'bare'), (stacked, 'handed on', 'stacked')))
