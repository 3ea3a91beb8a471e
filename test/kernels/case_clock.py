# SPDX-License-Identifier: GPL-2.0-or-later
"""The case `clock`: history while the guest's clock is set."""
import json

from guest_results import need, profile_of


def windows_of(result):
    need(result.status == 0, result.text[:200])
    return [row for row in json.loads(result.text)['windows'] if not row.get('running')]


def runs_of(rows):
    """The windows between two settings of the clock: each begins where the one before has ended, or a little later."""
    runs = [[rows[0]]]
    for before, row in zip(rows, rows[1:]):
        if not -0.01 <= row['from'] - before['until'] < 60:
            runs.append([])
        runs[-1].append(row)
    return runs


def check_clocked(results):
    """A clock that is set back by an hour, ahead by a day and back by 6 s: history goes on at once, has each sample once, at
    the time that the clock said, and all of it is there when the daemon was killed."""
    need(results['clock-answer'].status == 0, 'PUT: %s' % results['clock-answer'].text[:200])
    rows = windows_of(results['clock'])
    known = [tuple(map(int, line.split())) for line in results['clock-known'].text.splitlines()]
    need(len(known) == 5, 'the clock was set %d times' % (len(known) - 2))
    runs = runs_of(rows)
    need(len(runs) == 4, '%d runs of windows: %s' % (len(runs), [(run[0]['from'], len(run)) for run in runs]))
    # (A window that the setting was in ends by the new clock.)
    for run, (_, begin), (end, _) in zip(runs, known, known[1:]):
        need(len(run) >= 8 and sum(row['weight'] > 0 for row in run) >= 6, 'windows: %s' % run)
        need(begin - 60 <= run[0]['from'] and run[-1]['until'] <= end + 60, 'not within %d and %d: %s' % (begin, end, run))
    for row in rows:
        need(row['weight'] == 0 or 0 < row['covered'] <= row['until'] - row['from'] + 0.002, 'covered: %s' % row)
        need(row['until'] - row['from'] < 60, 'too long: %s' % row)
        # One loop, and a window's length is that of its samples.
        need(row['weight'] <= 150 * (row['covered'] + 1), 'too many samples: %s' % row)
    total = profile_of(results['clock-folded']).total()
    need(total == sum(row['weight'] for row in rows), '%d samples, not those of the windows' % total)
    begin, end = known[3][1], known[3][0]
    both = [[row for row in run if begin <= (row['from'] + row['until']) / 2 < end] for run in runs[2:]]
    twice = profile_of(results['clock-twice']).total()
    need(all(both) and twice == sum(row['weight'] for run in both for row in run), '%d in a time that was twice: %s' % (twice, both))
    changes = json.loads(results['clock-changes'].text)
    need(not changes['damaged'] and changes['before']['weight'] and changes['after']['weight'], 'changes: %s' % changes)
    need('"put"' in results['clock-events'].text, 'events: %s' % results['clock-events'].text[:200])
    again = windows_of(results['clock-again'])
    keys = ('from', 'until', 'weight', 'begun')
    kept = {tuple(row[key] for key in keys) for row in again}
    need({tuple(row[key] for key in keys) for row in rows} <= kept and len(again) > len(rows), 'after the kill: %d of %d windows'
         % (len(again), len(rows)))
    need(results['clock-log'].status == 0, 'the daemon\'s end: %s' % results['clock-log'].text[-200:])
    return '%d windows in %d runs, %d samples of a time that was twice; %d functions changed' % (
        len(rows), len(runs), twice, changes['changed'])
