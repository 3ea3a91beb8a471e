/* The list of what runs: rows of /proc/all.json, each 2 s, while the tab is seen. */
import {Refused, follow, getJson} from './api.js';
import {amount, make, named, number, percent} from './words.js';

const EVERY_S = 2, ROWS = 200, ALL_ROWS = 5000; /* while a filter stands all are asked for */

/* A value by second, if the kernel counts it. */
const rate = (write) => (value, seconds) => value === undefined ? '–' : write(value / seconds);
const share = rate((value) => percent(value, 1e9));
const bytes = rate((value) => amount(value, 'bytes'));

/* One column: the key of its value in an answer, and what stands in a cell. `in`: groups that have it; `sorts`: the
 * daemon can sort by it. */
const COLUMNS = [
	{title: 'PID', key: 'pid', in: ['pid'], cell: (value) => String(value ?? '')},
	{title: 'Processes', key: 'processes', in: ['comm', 'container', 'pod'], cell: (value) => String(value ?? 1)},
	{title: 'Name', key: 'comm', in: ['pid', 'comm'], cell: (value) => named(value ?? '')},
	{title: 'CPU', key: 'run_ns', sorts: true, help: 'Time on CPUs; 100 % is one CPU', cell: share},
	{title: 'Wait', key: 'delay_ns', sorts: true, help: 'Time in which its threads could run and had no CPU; 100 % is one thread',
		cell: share},
	{title: 'Memory', key: 'rss_bytes', sorts: true, help: 'Resident memory, now', cell: (value) => bytes(value, 1)},
	{title: 'Faults', key: 'minor', sorts: true, help: 'Page faults a second that wait for no disk', cell: rate(number)},
	{title: 'Read', key: 'read_bytes', sorts: true, help: 'From disks, a second', cell: bytes},
	{title: 'Written', key: 'write_bytes', sorts: true, help: 'To disks, a second', cell: bytes},
	{title: 'Container', key: 'container', in: ['pid', 'container'], cell: (value) => named(value ?? '')},
	{title: 'Pod', key: 'pod', in: ['pid', 'container', 'pod'],
		cell: (value, _, row) => named([row.namespace, row.pod].filter(Boolean).join('/'))},
];

/* The keys by which a row of a group is known, and the processes that are its own. */
const KEYS = {
	pid: ['pid', 'comm', 'container', 'pod', 'namespace'], comm: ['comm', 'kernel'], container: ['container', 'pod', 'namespace'],
	pod: ['pod', 'namespace'],
};

export class Processes {
	/* onTake(row): the user wants the next seconds of it. say(text) tells of errors; may(role) what the caller may. */
	constructor(section, {onTake, say, may}) {
		Object.assign(this, {section, onTake, say, may});
		this.table = section.querySelector('table');
		this.filter = section.querySelector('input');
		this.group = section.querySelector('select');
		this.by = 'run_ns';
		this.rows = new Map();
		this.answer = null;
		this.filter.addEventListener('input', () => {
			if (this.isWide !== Boolean(this.filter.value))
				this.start();
			this.draw();
		});
		this.group.addEventListener('change', () => this.restart());
		this.table.addEventListener('click', (event) => this.click(event));
		this.table.addEventListener('keydown', (event) => this.key(event));
		document.addEventListener('visibilitychange', () => document.hidden ? this.stop() : this.start());
		this.start();
	}

	start() {
		this.stop();
		if (document.hidden || !this.may('read'))
			return;
		this.isWide = Boolean(this.filter.value);
		this.running = new AbortController();
		this.run(this.running.signal);
	}

	stop() {
		this.running?.abort();
		this.running = null;
	}

	restart() {
		this.answer = null;
		this.rows.clear();
		this.table.replaceChildren();
		this.start();
	}

	/* Follows measurements; who may not begin any reads what the feature /proc counts, if it runs. */
	async run(signal) {
		const query = `top=${this.isWide || !this.may('profile') ? ALL_ROWS : ROWS}&by=${this.sortKey()}&group_by=${this.group.value}`;

		for (let wait = 1; !signal.aborted; wait = Math.min(2 * wait, 16)) {
			try {
				if (this.may('profile'))
					await follow(`/proc/all.json?every=${EVERY_S}&${query}`, (answer) => {
						this.take(answer);
						wait = 1;
					}, {signal});
				else
					await this.poll(query, signal);
			} catch (error) {
				if (signal.aborted)
					return;
				this.section.querySelector('.foot').textContent = error.message;
				if (error instanceof Refused && error.status === 401)
					return;
			}
			await new Promise((done) => setTimeout(done, 1000 * wait));
		}
	}

	async poll(query, signal) {
		let before = null;

		while (!signal.aborted) {
			const answer = await getJson(`/proc/all.json?${query}`, {signal});

			if (before)
				this.take(difference(before, answer));
			before = answer;
			await new Promise((done) => setTimeout(done, 1000 * EVERY_S));
		}
	}

	/* Rows come by a value that the daemon can sort by; the rest is the page's. */
	sortKey() {
		const column = COLUMNS.find((c) => c.key === this.by);

		return column.sorts ? this.by : 'run_ns';
	}

	get keys() {
		return KEYS[this.group.value];
	}

	take(answer) {
		if (answer.ended)
			throw new Error(answer.ended);
		if (answer.rows) {
			this.answer = answer;
			this.draw();
		}
	}

	sorted() {
		const value = (row) => row[this.by] ?? '', text = this.filter.value.toLowerCase();
		const order = (a, b) => a === b ? 0 : typeof a === 'string' || typeof b === 'string'
			? (a === '') - (b === '') || (String(a) < String(b) ? -1 : 1) : this.by === 'pid' ? a - b : b - a;

		const found = this.answer.rows
			.filter((row) => KEYS.pid.some((key) => String(row[key] ?? '').toLowerCase().includes(text)))
			.sort((a, b) => order(value(a), value(b)) || (b.run_ns ?? 0) - (a.run_ns ?? 0));

		this.found = found.length;
		return found.slice(0, ROWS);
	}

	draw() {
		if (!this.answer)
			return;
		const seconds = this.answer.until - this.answer.from, rows = this.sorted();
		const columns = COLUMNS.filter((c) => !c.in || c.in.includes(this.group.value)), isIn = this.table.contains(document.activeElement);
		const focused = isIn && document.activeElement.closest('tr').dataset.key;

		if (!this.table.tHead)
			this.table.append(make('thead', {}, make('tr')), make('tbody'));
		this.drawHead(columns);
		const shown = rows.map((row) => this.drawRow(row, columns, seconds)), body = this.table.tBodies[0];

		for (const [key, tr] of this.rows) {
			if (!shown.includes(tr)) {
				tr.remove();
				this.rows.delete(key);
			}
		}
		shown.forEach((tr, i) => {
			if (body.rows[i] !== tr)
				body.insertBefore(tr, body.rows[i] || null);
		});
		if (focused && this.rows.has(focused) && !this.table.contains(document.activeElement))
			this.rows.get(focused).focus({preventScroll: true});
		if (shown.length && !shown.some((tr) => tr.tabIndex === 0))
			shown[0].tabIndex = 0; /* the list is to be reached by Tab */
		this.drawFoot(seconds, rows.length);
	}

	drawHead(columns) {
		const head = this.table.tHead.rows[0];

		if (head.cells.length === columns.length + 1 && this.headBy === this.by)
			return;
		const isFocused = head.contains(document.activeElement);

		this.headBy = this.by;
		head.replaceChildren(...columns.map((column) => make('th', {
			scope: 'col', className: column.sorts ? 'value' : 'text', 'aria-sort': column.key !== this.by ? 'none' : ['pid', 'comm', 'container', 'pod'].includes(this.by)
				? 'ascending' : 'descending',
		}, make('button', {type: 'button', className: 'sort', 'data-by': column.key, title: column.help || ''},
			column.title))), make('th', {scope: 'col'}, 'Profile'));
		if (isFocused)
			head.querySelector(`[data-by=${this.by}]`)?.focus();
	}

	drawRow(row, columns, seconds) {
		const key = this.keys.map((name) => row[name]).join('\n');
		let tr = this.rows.get(key);

		if (!tr) {
			tr = make('tr', {tabIndex: -1, 'data-key': key});
			tr.append(...columns.map((column) => make('td', {className: column.sorts ? 'value' : 'text'})), make('td'));
			if (!row.kernel && !row.ended && (row.pid || this.group.value !== 'pid'))
				tr.lastChild.append(make('button', {type: 'button', className: 'take', title: 'The next 10 s (Enter)'}, 'next 10 s'));
			this.rows.set(key, tr);
		}
		tr.row = row;
		columns.forEach((column, i) => {
			const cell = column.cell(row[column.key], seconds, row), text = cell.textContent ?? cell;

			if (tr.cells[i].textContent !== text)
				tr.cells[i].replaceChildren(cell);
		});
		return tr;
	}

	drawFoot(seconds, shown) {
		const {all, others, host} = this.answer;
		const parts = [shown < this.found ? `${shown} of ${this.found} rows` : `${shown} rows`];

		if (others?.processes)
			parts.push(`${others.processes} more with ${percent(others.run_ns, 1e9 * seconds)} CPU`);
		if (all && host)
			parts.push(`all ${percent(all.run_ns, 1e9 * seconds)} of ${100 * host.cpus} %`);
		this.section.querySelector('.foot').textContent = parts.join(' · ');
	}

	click(event) {
		const sort = event.target.closest('.sort'), tr = event.target.closest('tr');

		if (sort) {
			const before = this.sortKey();

			this.by = sort.dataset.by;
			this.draw();
			if (this.sortKey() !== before)
				this.start();
		} else if (event.target.closest('.take')) {
			this.onTake(tr.row);
		} else if (tr?.row) {
			this.focus(tr);
		}
	}

	focus(tr) {
		for (const other of this.rows.values())
			other.tabIndex = -1;
		tr.tabIndex = 0;
		tr.focus();
	}

	key(event) {
		const tr = event.target.closest('tbody tr');

		if (!tr || event.target !== tr)
			return;
		const next = {ArrowDown: tr.nextElementSibling, ArrowUp: tr.previousElementSibling,
			Home: tr.parentNode.firstChild, End: tr.parentNode.lastChild}[event.key];

		if (next)
			this.focus(next);
		else if (event.key === 'Enter' && tr.querySelector('.take'))
			this.onTake(tr.row);
		else
			return;
		event.preventDefault();
		event.stopPropagation();
	}
}

/* Returns what was between two answers, as a measurement tells it. */
function difference(before, after) {
	const key = (row) => `${row.pid};${row.comm};${row.container};${row.pod}`;
	const old = new Map(before.rows.map((row) => [key(row), row]));
	const minus = (a, b) => Object.fromEntries(Object.entries(a).map(([name, value]) =>
		[name, typeof value === 'number' && !['pid', 'processes', 'rss_bytes', 'cpus'].includes(name)
			? Math.max(value - (b?.[name] ?? 0), 0) : value]));

	return {...after, from: before.until, rows: after.rows.filter((row) => old.has(key(row)))
		.map((row) => minus(row, old.get(key(row)))), all: minus(after.all, before.all), others: null};
}
