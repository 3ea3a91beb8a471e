/* The list of what runs: rows of /proc/all.json, each 2 s, or of /processes, while the tab is seen. */
import {follow, getJson, may, pause} from './api.js';
import {look} from './taking.js';
import {amount, facts, get, headOf, make, named, number, onKeys, percent, redraw, rove, sortable} from './words.js';

const EVERY_S = 2, ROWS = 200, ALL_ROWS = 5000; /* while a filter stands all are asked for */
const PIDS = 64, NAMELESS = 'processes';

/* A value by second, if the kernel counts it. */
const rate = (write) => (value, seconds) => value === undefined ? '–' : write(value / seconds);
const share = rate((value) => percent(value, 1e9));
const bytes = rate((value) => amount(value, 'bytes'));

/* Columns: title, key of the value in an answer, what stands in a cell; groups that have it, of those by which the daemon
 * doesn't sort; help. */
const COLUMNS = [
	['PID', 'pid', (value) => String(value ?? ''), 'pid'],
	['Processes', 'processes', (value) => String(value ?? 1), 'comm container pod'],
	['Name', 'comm', named, 'pid comm'],
	['CPU', 'run_ns', share, '', 'Time on CPUs; 100 % is one CPU'],
	['Wait', 'delay_ns', share, '', 'Time in which its threads could run and had no CPU; 100 % is one thread'],
	['Memory', 'rss_bytes', (value) => bytes(value, 1), '', 'Resident memory, now'],
	['Threads', 'threads', number, 'pid comm container pod'],
	['Faults', 'minor', rate(number), '', 'Page faults a second that wait for no disk'],
	['Read', 'read_bytes', bytes, '', 'From disks, a second'],
	['Written', 'write_bytes', bytes, '', 'To disks, a second'],
	['Container', 'container', named, 'pid container'],
	['Pod', 'pod', (_, seconds, row) => named([row.namespace, row.pod].filter(Boolean).join('/')), 'pid container pod'],
	['Command', 'command', named, 'pid'],
];

/* Columns that only one of the two answers has. */
const OF_PROC = ['minor', 'read_bytes', 'write_bytes'], OF_LIST = ['threads', 'command'];

/* The keys by which a row of a group is known, and the processes that are its own. */
const KEYS = {
	pid: ['pid', 'comm', 'container', 'pod', 'namespace'], comm: ['comm', 'kernel'], container: ['container', 'pod', 'namespace'],
	pod: ['pod', 'namespace'],
};
const TEXTS = [...KEYS.pid, 'command'];

const table = get('#processes table'), filter = get('[name=filter]'), group = get('[name=group]');
const foot = get('.foot');

let shownRows = new Map(), by = 'run_ns', answer = null, running = null, resting = 0, isWide;

/* --- reading --- */

/* Begins to read, or begins again; not for who may not see it, or does not. */
export function startList() {
	running?.abort();
	if (document.hidden || !may('read'))
		return;
	isWide = Boolean(filter.value);
	running = new AbortController();
	run(running.signal);
}

export function restartList() {
	answer = null;
	shownRows.clear();
	table.tHead.rows[0].by = '';
	table.tBodies[0].replaceChildren();
	startList();
}

/* Lets the list rest while other requests are under way: who is no administrator has two at a time. */
export async function alone(work) {
	if (may('admin'))
		return work();
	if (!resting++)
		running?.abort();
	try {
		return await work();
	} finally {
		if (!--resting)
			startList();
	}
}

/* Follows measurements; who may not begin any asks what runs. */
async function run(signal) {
	const path = `/proc/all.json?top=${isWide ? ALL_ROWS : ROWS}&by=${sortKey()}&group_by=${group.value}&every=${EVERY_S}`;

	for (let before = null, wait = 1; !signal.aborted; wait = Math.min(2 * wait, 16)) {
		try {
			if (may('profile')) {
				await follow(path, (told) => {
					take(told);
					wait = 1;
				}, {signal});
			} else {
				const after = await getJson('/processes?limit=2000', {signal});

				if (before)
					take(between(before, after));
				wait = before ? 5 * EVERY_S : EVERY_S; /* all of /proc is read */
				before = after;
			}
		} catch (error) {
			if (signal.aborted)
				return;
			foot.textContent = error.message;
			if (error.status === 401)
				return;
		}
		await pause(wait);
	}
}

/* Returns what was between two answers of /processes, as a measurement tells it. */
function between(before, after) {
	const idOf = ({pid, start}) => `${pid} ${start}`, old = new Map(before.processes.map((one) => [idOf(one), one])), rows = {};
	const names = group.value === 'pid' ? TEXTS : KEYS[group.value], ns = (now, then) => Math.max(0, 1e9 * ((now ?? NaN) - (then ?? NaN)));

	for (const one of after.processes) {
		const was = old.get(idOf(one)) ?? (one.start < before.at ? {} : {cpu_s: 0, wait_s: 0});
		const whose = names.map((name) => [name, one[name]]), row = rows[whose] ??= Object.fromEntries(whose);
		const values = {processes: 1, threads: one.threads, rss_bytes: one.rss, run_ns: ns(one.cpu_s, was.cpu_s), delay_ns: ns(one.wait_s, was.wait_s)};

		for (const [name, value] of Object.entries(values)) {
			if (value >= 0)
				row[name] = (row[name] ?? 0) + value;
		}
	}
	return {from: before.at, until: after.at, rows: Object.values(rows), others: after.others};
}

function take(told) {
	if (told.ended)
		throw new Error(told.ended);
	if (told.rows) {
		answer = told;
		redraw(draw);
	}
}

/* --- the table --- */

/* Rows come by a value that the daemon can sort by; the rest is the page's. */
const sortKey = () => COLUMNS.some(([, key, , groups]) => key === by && !groups) ? by : 'run_ns';

const isUp = () => TEXTS.includes(by);

function sorted() {
	const value = (row) => row[by] ?? '', text = filter.value.toLowerCase();
	const order = (a, b) => a === b ? 0 : (a === '') - (b === '') || (a < b === isUp() ? -1 : 1);

	return answer.rows.filter((row) => TEXTS.some((key) => String(row[key] ?? '').toLowerCase().includes(text)))
		.sort((a, b) => order(value(a), value(b)) || (b.run_ns ?? 0) - (a.run_ns ?? 0));
}

function draw() {
	if (!answer)
		return;
	const seconds = answer.until - answer.from, found = sorted();
	const columns = COLUMNS.filter(([, key, , groups]) => (!groups || groups.includes(group.value)) && !(may('profile') ? OF_LIST : OF_PROC).includes(key));

	drawHead(columns);
	const rows = found.slice(0, ROWS).map((row) => drawRow(row, columns, seconds)), body = table.tBodies[0];

	rows.forEach((tr, i) => {
		if (body.rows[i] !== tr)
			body.insertBefore(tr, body.rows[i] ?? null);
	});
	while (body.rows.length > rows.length)
		body.lastChild.remove();
	shownRows = new Map(rows.map((tr) => [tr.dataset.key, tr]));
	if (rows.length && !rows.some((tr) => tr.tabIndex === 0))
		rows[0].tabIndex = 0; /* the list is to be reached by Tab */
	const {all, others, host} = answer, cpu = ({run_ns}) => share(run_ns, seconds);

	foot.textContent = facts(
		rows.length < found.length ? `${rows.length} of ${found.length} rows` : `${rows.length} rows`,
		others?.processes && `${others.processes} more${others.run_ns >= 0 ? ` with ${cpu(others)} CPU` : ''}`,
		all && host && `all ${cpu(all)} of ${100 * host.cpus} %`,
	);
}

function drawHead(columns) {
	const head = table.tHead.rows[0];

	if (head.by === by)
		return;
	head.by = by;
	head.replaceChildren(...headOf([...columns.map(([title, key, , groups, help]) =>
		sortable(title, key, groups ? 'text' : 'value', by, isUp(), sort, help)), ['Profile', 'text']]));
}

function sort(key) {
	const before = sortKey();

	by = key;
	redraw(draw);
	if (sortKey() !== before)
		startList();
}

function drawRow(row, columns, seconds) {
	const key = KEYS[group.value].map((name) => row[name]).join('\n');
	let tr = shownRows.get(key);

	if (!tr) {
		tr = make('tr', {tabIndex: -1, 'data-key': key}, ...columns.map(([, , , groups]) => make('td', {className: groups ? 'text' : 'value'})), make('td'));
		if (may('profile') && !row.kernel && !row.ended && (row.pid || group.value !== 'pid'))
			tr.lastChild.append(make('button', {className: 'take', 'data-of': key}, 'next 10 s'));
	}
	tr.row = row;
	columns.forEach(([, name, cellOf], i) => {
		const cell = cellOf(row[name], seconds, row), text = cell.textContent ?? cell;

		if (tr.cells[i].textContent !== text)
			tr.cells[i].replaceChildren(cell);
	});
	return tr;
}

/* --- choosing --- */

/* Returns the processes of a row that stands for several: the 64 with the most CPU time in a second. */
async function pidsOf(row) {
	if (row.pid)
		return String(row.pid);
	const {rows} = await alone(() => getJson('/proc/all.json?seconds=1&group_by=pid')), keys = KEYS[group.value];

	return rows.filter((one) => one.pid && !one.kernel && !one.ended && keys.every((key) => one[key] === row[key]))
		.slice(0, PIDS).map((one) => one.pid).join(',');
}

export async function takeRow(row, source = 'take') {
	const pids = await pidsOf(row), name = row.comm || row.container || row.pod || NAMELESS;

	if (!pids)
		throw new Error('None of its processes runs any more.');
	look(source, {pids, of: row.pid ? `${name} (${row.pid})` : name, group: row.pid || name === NAMELESS ? '' : group.value});
}

/* The row that is focused, or the one that was last. */
export const chosenRow = () => table.querySelector('tr[tabindex="0"]');

filter.oninput = () => {
	if (isWide !== Boolean(filter.value))
		startList();
	draw();
};
group.onchange = restartList;
table.onclick = ({target}) => {
	const tr = target.closest('tbody tr');

	if (target.className === 'take')
		takeRow(tr.row);
	else if (tr)
		rove(table, tr);
};

const to = (find) => ({target}) => target.row ? rove(table, find(target)) : false;

onKeys(table, {
	ArrowDown: to((tr) => tr.nextElementSibling), ArrowUp: to((tr) => tr.previousElementSibling),
	Home: to((tr) => tr.parentNode.firstChild), End: to((tr) => tr.parentNode.lastChild),
	Enter: ({target}) => Boolean(target.querySelector('.take')) && takeRow(target.row),
});
