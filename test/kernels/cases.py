# SPDX-License-Identifier: GPL-2.0-or-later
"""What is tried in each guest, and what must be found."""
import json
import re

from case_clock import check_clocked
from case_disks import check_disks
from guest_results import (LEAST, Profile, Wrong, is_kernel, is_rooted, kernel_of, need, profile_of, user_frames, weight,
                           whole)  # fmt: skip

SECONDS_EACH = 6
SHARE_MIN = 0.98
PROGRAMS = ['chain', 'frames', 'altstack', 'syscalls', 'strands', 'naps', 'hang',
            'allocations', 'grow', 'pretends', 'flash', 'points', 'rings']
MODULES = ['loop', 'brd', 'dax', 'dm-mod']  # disks: with requests, without, and of others
FOREVER = 1000
DEPTHS = [20, 150, 250, 996]


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


def check_newcomers(results):
    """Processes of some milliseconds; one of the same file has lived longer."""
    profile = profile_of(results['newcomers'])
    flashes = [s for s in profile.stacks if s.frames[0].endswith(']flash')]
    by_process = {}
    for stack in flashes:
        by_process[stack.frames[0]] = by_process.get(stack.frames[0], 0) + stack.value
    first = max(by_process, key=by_process.get)
    brief = [s for s in flashes if s.frames[0] != first]
    total = sum(s.value for s in brief)
    need(total >= LEAST / 2, 'only %d samples' % total)
    cut = sum(s.value for s in brief if s.has('[truncated]')) / total
    text = '%d samples of %d processes, %.1f %% cut' % (total, len(by_process) - 1, 100 * cut)
    need(kernel_of(results) < (6, 1) or cut <= 0.1, text)
    return text


def check_doctor(results):
    result = results['doctor']
    lines = result.text.splitlines()
    oncpu = re.search(r'^ +oncpu +(\w+) +(.*)$', result.text, re.MULTILINE)
    need(oncpu and oncpu[1] in ('yes', 'limited'), 'oncpu: %s' % (oncpu and oncpu[0].strip()))
    need(result.status == 0, 'status %d: %s' % (result.status, lines[-1]))
    need(re.search(r'^ +btf +yes', result.text, re.MULTILINE), 'no BTF')
    # What this kernel's types don't tell, in the words of GET: which pages are used is known since 6.12.
    told = 'nor which ones are used' in ' '.join(result.text.split())
    need(told == (kernel_of(results) < (6, 12)), 'the limits of readahead: %s' % result.text)
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


def check_waits(results):
    """Sleeps through their whole stack; a thread that hung already, where iterators may sleep."""
    answer = results['waits-answer']
    need(answer.status == 0 and '"success"' in answer.text, 'PUT: %s' % (answer.text or 'no answer'))
    profile = profile_of(results['waits'])
    known = json.loads(results['waits-known'].text)['nap_10ms']
    slept = sum(s.value for s in profile.stacks if s.has('main', *['dig'] * 20, 'nap_10ms'))
    own = known['sum_ns'] / 1e3
    need(known['switches'] == 200, '%d sleeps' % known['switches'])
    need(0.9 * own <= slept <= 1.1 * own, 'slept %d us, the program says %d' % (slept, own))
    hung = sum(s.value for s in profile.stacks if s.has('main') and not s.has('nap_10ms'))
    return '%.3f of the time slept, %.1f s hung' % (slept / own, hung / 1e6)


def check_allocations(results, name='allocations'):
    """Each site of a program has what it was given and what is left of it, all four figures."""
    status = results[name + '-status']
    need(status.status == 0, 'the daemon ended with %d' % status.status)
    known = [line for line in results[name + '-known'].text.splitlines() if line.startswith('{')]
    need(known, 'the program told nothing: %s' % results[name + '-answer'].text)
    sites = json.loads(known[0])['sites']
    profiles = [profile_of_view(results[name + view]) for view in
                ('', '-count', '-inuse', '-inuse-count')]
    wrong = {}
    for site, figures in sites.items():
        seen = [profile.total(site) for profile in profiles]
        if seen != figures:
            wrong[site] = '%s, not %s' % (seen, figures)
    need(not wrong, 'of %d sites: %s' % (len(sites), wrong))
    cut = profiles[0].total('[truncated]')
    need(not cut, '%d bytes are cut' % cut)
    return '%d sites exact, %d bytes' % (len(sites), profiles[0].total())


def check_handed(results, name):
    """The same, with programs that took the events over when a runtime was found (kernel/walkers.h)."""
    said = check_allocations(results, name)
    took = len(re.findall('takes the events over', results[name + '-log'].text))
    need(took >= 4, '%d programs took over' % took)
    probes = json.loads(results[name + '-status'].text)['status']['probes']
    lost = {probe: n for probe, state in probes.items() for n in state['lost'].values() if n}
    need(not lost, 'lost: %s' % lost)
    return '%s; %d programs took over' % (said, took)


def profile_of_view(result):
    need(result.status == 0, 'status %d: %s' % (result.status, result.text[:100]))
    return Profile(result.text.strip('\n') + '\n')


def check_histograms(result):
    lines = result.text.strip().splitlines()
    need(result.status == 0 and lines[-2].startswith('{'), lines[0])
    refused = re.findall(r"failed to load object '(\w+)'", result.text)
    need(not refused, 'the kernel refuses %s' % ', '.join(refused))
    seen = json.loads(lines[-2])
    namespace = int(re.search(r'pid:\[(\d+)\]', lines[-1])[1])
    waits = {row['group']: sum(row['slots']) for row in seen['runqlat']}
    need(waits.get(namespace, 0) > 100, 'waits by namespace: %s' % waits)
    need(seen['cpudist'] and all(row['group'] for row in seen['cpudist']), 'no slices by cgroup')
    need(len(seen['offcpudist']) > 5 and all(row['group'] for row in seen['offcpudist']),
         'no sleeps by thread')
    need(len(seen['runqlen']) == 2, '%d CPUs have run-queue lengths' % len(seen['runqlen']))
    waiting = [sum(row['slots'][1:]) / sum(row['slots']) for row in seen['runqlen']]
    need(max(waiting) > 0.5, 'nobody waits: %s' % waiting)
    slow = [event for event in seen['runqslower'] if event['before']]
    need(len(slow) > 10 and any(event['most_us'] > 500 for event in slow), '%d waits' % len(slow))
    need(not seen['refused'] and not seen['records_full'], 'refused: %s' % lines[-2][-100:])
    return '%d waits, %d above 1 ms' % (sum(waits.values()), len(slow))


# Function in which memory grows, its kinds, the program's name for it.
GROWN = [('grow_anon', ['anon'], 'anon'), ('grow_huge', ['thp', 'anon'], 'huge'),
         ('grow_pipe', ['anon'], 'pipe'), ('grow_file', ['file', 'shmem'], 'file'),
         ('grow_zeroed', ['anon'], 'zeroed'), ('grow_shared', ['shmem'], 'shared'),
         ('grow_part', ['anon'], 'threads')]


def check_faults(results):
    """Each function's memory is there, of its kind, within 2 %; copies where the kernel tells them."""
    answer = results['faults-answer']
    need(answer.status == 0 and '"success"' in answer.text, 'PUT: %s' % (answer.text or 'no answer'))
    profile = profile_of(results['faults'])
    known = json.loads(results['faults-known'].text)
    lost = json.loads(results['faults-status'].text)['status']['probes']['mem']['lost']

    def grown(function, *kinds):
        return sum(s.value for s in profile.stacks
                   if function in s.frames and s.frames[-1] in ['[%s]' % kind for kind in kinds])

    for function, kinds, name in GROWN:
        seen, own = grown(function, *kinds), known[name]['touched']
        need(0.98 * own <= seen <= 1.02 * own, '%s: %d bytes, not %d (lost: %s)'
             % (name, seen, own, {place: n for place, n in lost.items() if n}))
    # 5.10 tries these faults twice, and adds a thread's pages to the sum with every 66th try: in one half it
    # is always the second of two.
    halves, own = grown('grow_halves', 'shmem'), known['halves']['touched']
    need(0.995 * own <= halves <= 1.005 * own, 'halves: %d bytes, not %d' % (halves, own))
    need(grown('grow_private', 'cow') == known['private']['touched'], 'copies of a file\'s pages')
    # (The kernel copies a page of which somebody else has a reference still.)
    again = grown('grow_reuse', 'anon', 'cow')
    need(again <= 0.01 * known['reuse']['touched'], '%d bytes that were used again' % again)
    copied, own = grown('touch_all', 'cow'), known['cow']['touched']
    need(copied in (0, own), '%d bytes copied, not %d' % (copied, own))
    need(lost['unmeasured'] <= 5, '%d faults unmeasured' % lost['unmeasured'])
    return '%d bytes, %d of them copies; %d unmeasured' % (profile.total(), copied, lost['unmeasured'])


def check_moved(results):
    """Bytes of dd's calls are exact; of nc's socket, where the kernel tells lengths or by the calls. The other probes
    begin, or say what the kernel lacks."""
    need(results['moved'].status == 0, results['moved'].text[:200])
    profile = Profile(results['moved'].text)
    read, written = profile.total('[read]', '[other]'), profile.total('[write]', '[file]')
    # (dd tells what it did, in a file as well.)
    need(read == 4096000 and 0 <= written - 4096000 < 200, 'dd: %d bytes read, %d written' % (read, written))
    net = results['moved-net']
    need(net.status == 0, 'net: %s' % net.text[-200:])
    sent = sum(int(line.rsplit(' ', 1)[1]) for line in net.text.splitlines()
               if re.search(r'(^|;)nc;.*\[send\];\[tcp\] [0-9]+$', line))
    need(sent == 409600, 'nc: %d bytes sent' % sent)
    rings = results['moved-rings']
    need(rings.status == 0, 'rings: %s' % rings.text[-200:])
    rung = sum(int(line.rsplit(' ', 1)[1]) for line in rings.text.splitlines()
               if re.search(r';ring_read;.*\[read\];\[file\] [0-9]+$', line))
    need(rung in (0, 81920), 'rings: %d bytes read' % rung)
    others = {'rings': 'run' if rung else 'no'}
    for probe in ('blkio', 'readahead', 'writeback'):
        result = results['moved-' + probe]
        need(result.status == 0 or 'tracepoint' in result.text or 'needs' in result.text,
             '%s: %s' % (probe, result.text[-200:]))
        others[probe] = 'runs' if result.status == 0 else 'no'
    return '%d bytes, %d of a socket; %s' % (read + written, sent, others)


def check_named(results):
    """Calls of a function, execs and sleeps in the kernel are exact; the naps take what they take, and most of that is the
    kernel's own function, which is called in them."""
    totals = {}
    for event in ('ticks', 'execs', 'writes', 'naps', 'time-user', 'time-kernel'):
        result = results['named-' + event]
        need(result.status == 0, '%s: %s' % (event, result.text[-300:]))
        totals[event] = sum(int(line.rsplit(' ', 1)[1]) for line in result.text.splitlines()
                            if re.search(r';points;.* [0-9]+$', line))
    need(totals['ticks'] == 500, '%d calls' % totals['ticks'])
    need(totals['execs'] == 1, '%d execs' % totals['execs'])
    need(totals['writes'] >= 1, '%d writes' % totals['writes'])
    need(totals['naps'] == 20, '%d sleeps in the kernel' % totals['naps'])
    need('hrtimer_nanosleep' in results['named-naps'].text, 'the function itself is no frame')
    need(40000 <= totals['time-kernel'] <= totals['time-user'] < 2000000, '20 naps of 2 ms: %s' % totals)
    return '500 calls, %d writes, naps of %d us, %d of them in the kernel' % (
        totals['writes'], totals['time-user'], totals['time-kernel'])


def check_costed(results):
    """What dd moved; its time; the page faults of its begin; switches of a thread of the kernel."""
    need(results['costed-answer'].status == 0, results['costed-answer'].text[:200])
    rows, totals = {}, {}
    for probe in ('cpu', 'sched', 'fault', 'io', 'softirq', 'pagecache', 'wakeup'):
        result = results['costed-' + probe]
        need(result.status == 0, '%s: %s' % (probe, result.text[:200]))
        found = json.loads(result.text)
        need(not any(found['lost'].values()), str(found['lost']))
        rows[probe] = found['rows']
        totals[probe] = found
    ended = {probe: [row for row in of if row.get('comm') in ('dd', 'busybox') and row.get('ended')]
             for probe, of in rows.items()}
    moved = [row for row in ended['io'] if row.get('write_chars', 0) >= 4096000]
    need(not rows['io'] or 'write_chars' not in rows['io'][0] or len(moved) == 1, 'dd: %s' % ended['io'])
    if moved:
        need(1000 <= moved[0]['write_calls'] <= 1010 and moved[0]['read_chars'] >= 4096000, str(moved))
    need(any(row['run_ns'] > 100000 for row in ended['cpu']), 'dd: %s' % ended['cpu'])
    need(any(row['minor'] > 10 for row in ended['fault']), 'dd: %s' % ended['fault'])
    need(any(row.get('kernel') and row['voluntary'] for row in rows['sched']), 'no thread of the kernel')
    timers = sum(cpu['timer'] for cpu in totals['softirq']['cpus'])
    need(timers > 10 and sum(row['softirqs'] for row in rows['softirq']) > 0, str(totals['softirq'])[:500])
    need(totals['wakeup']['pairs'] and totals['wakeup']['all']['woken'] > 10, str(totals['wakeup'])[:500])
    need(totals['pagecache']['all']['pages_added'] >= 0, str(totals['pagecache'])[:500])  # (its files are no file system's)
    check_memory(results)
    return 'dd: %s; %d softirqs of timers; page cache: %s' % (
        moved or 'this kernel counts no calls', timers, totals['pagecache'].get('absent', 'hits too'))


def check_memory(results):
    """The daemon's resident memory: /proc has the kernel's sum, to which CPUs or threads add their pages later."""
    pid, _, resident = results['costed-memory'].text.split()[:3]
    (told,) = [row['rss_bytes'] for row in json.loads(results['costed-all'].text)['rows'] if row['pid'] == int(pid)]
    need(abs(told - 4096 * int(resident)) <= 0.1 * told + 4096 * 3 * 128, 'memory: %d, %s pages' % (told, resident))


def check_unplugged(results):
    """A CPU goes and comes twice: the program's time is the kernel's to the ns, and nothing is counted twice."""
    answer, told, known = (results[name] for name in ('unplugged-answer', 'unplugged', 'unplugged-known'))
    need(answer.status == 0 and answer.text.strip().endswith('1'), 'PUT, or the CPU: %s' % answer.text[-200:])
    need(told.status == 0, told.text[:200])
    found, pid = json.loads(told.text), known.status
    run_ns = sum(int(line.split()[0]) for line in known.text.splitlines())
    rows = [row for row in found['rows'] if row['pid'] == pid]
    need(len(rows) == 1 and rows[0]['run_ns'] == run_ns, '%s instead of %d' % (rows, run_ns))
    host = found['host']
    parts = found['all']['run_ns'] + sum(host.get(name, 0) for name in ('idle_ns', 'iowait_ns', 'interrupts_ns', 'steal_ns'))
    need(parts <= 1.002 * host['wall_ns'], '%d of %d ns: %s' % (parts, host['wall_ns'], host))
    return '%d ns, and the kernel says the same; all parts are %.1f %% of the CPUs\' time' % (
        run_ns, 100 * parts / host['wall_ns'])


def check_counted(results):
    """Page faults in the place of a CPU's counters: perf's own number of them, in both rounds."""
    result = results['counted']
    need(result.status == 0, result.text[:300])
    told = json.loads(result.text)
    for counted in told['rounds']:
        faults = counted['ref_cycles']
        need(faults['counted'] == faults['truth'] > 30000, str(counted))
    need(told['lost'] == 0, result.text)
    return '%d page faults, as perf counts them' % told['rounds'][0]['ref_cycles']['counted']


# Depth of `chain`, and how its lines begin. Of the second container no state is there.
CONTAINED = {20: ('[Pod]shop-0', '[Con]web'), 21: ('[Pod]shop-0', '[Con]web'), 23: ('[Pod]shop-0', '[Con]web'),
             24: ('[Pod]11111111-2222-3333-4444-555555555555', '[Con]bbbbbbbbbbbb')}


def check_contained(results):
    """With cgroup v2 alone: what was there, began later and was moved is chosen, and nothing else."""
    answer, told = results['containers-answer'], results['containers']
    need(answer.status == 0 and '"success"' in answer.text, 'PUT: %s' % (answer.text or 'no answer'))
    need(told.status == 0, told.text[:100])
    seen = {}
    for line in told.text.splitlines():
        stack, _, value = line.rpartition(' ')
        pod, container, _, *frames = stack.split(';')
        depth = 1 + max([int(f[1:]) for f in frames if re.fullmatch(r'f\d{3}', f)], default=-1) + 1
        if 'bottom' in frames:
            seen[depth, pod, container] = seen.get((depth, pod, container), 0) + int(value)
    wanted = {(depth, *where) for depth, where in CONTAINED.items()}
    need(set(seen) == wanted, 'found: %s' % seen)
    need(min(seen.values()) >= 20, 'few samples: %s' % seen)
    need(results['containers-status'].status == 0, 'the daemon\'s end')
    return ', '.join('%d of chain %d' % (n, depth) for (depth, *_), n in sorted(seen.items()))


def cases():
    """Name, the guest's command, and the check of all results."""
    def one(name, command, check, *more):
        return name, command, lambda results: check(results[name], *more)

    def recorded(name, program, check, *more):
        return one(name, 'recorded %s %s' % (name, program), check, *more)

    return [
        ('doctor', 'doctor doctor', check_doctor),
        one('load', 'load load', check_load),
        *(recorded('chain-%d' % depth, 'chain %d %d' % (depth, FOREVER), check_chain, depth)
          for depth in DEPTHS),
        recorded('frames', 'frames %d' % FOREVER, check_frames),
        recorded('altstack', 'altstack fault %d' % FOREVER, check_altstack),
        recorded('syscalls', 'syscalls %d' % FOREVER, check_syscalls),
        recorded('strands', 'strands %d' % FOREVER, check_strands),
        ('newcomers', 'newcomers newcomers', check_newcomers),
        ('waits', 'waits waits', check_waits),
        ('allocations', 'allocated allocations', check_allocations),
        ('handed', 'allocated handed oncpu offcpu mem', lambda results: check_handed(results, 'handed')),
        one('histograms', 'histograms histograms', check_histograms),
        ('faults', 'faults faults', check_faults),
        ('moved', 'moved moved', check_moved),
        ('disks', 'disks disks', check_disks),
        ('named', 'named named', check_named),
        ('containers', 'contained containers', check_contained),
        ('costed', 'costed costed', check_costed),
        ('unplugged', 'unplugged unplugged', check_unplugged),
        ('counted', 'counted counted', check_counted),
        ('daemon', 'served daemon chain 20 %d' % FOREVER,
         lambda results: check_served(results, 'daemon', 20)),
        ('clock', 'clocked clock', check_clocked),
    ]


def commands():
    """What /init runs."""
    return 'SECONDS_EACH=%d\nFOREVER=%d\n' % (SECONDS_EACH, FOREVER) + ''.join(
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
