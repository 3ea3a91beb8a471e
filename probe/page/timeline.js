/* Back in time: what history has of a probe, a range of that, and what changed in it. */
import {getJson, partsOf} from './api.js';
import {labelOf} from './profile.js';
import {amount, clock, isolate, make, named, number} from './words.js';

const HEIGHT = 64, LATEST_S = 300, SHORTEST_S = 30, CLICK_PX = 4;
const AGAINST = [['', 'nothing'], ['before', 'the time before'], ['3600', 'an hour before'], ['86400', 'a day before'],
	['604800', 'a week before']];
const SPANS = [['3600', 'hour'], ['21600', '6 hours'], ['86400', 'day'], ['604800', '7 days']];

const VALUES = ['Self', 'Total', 'All of it']; /* headings of columns with rates */

const now = () => Date.now() / 1000;

/* Returns what chooses the stacks of a range: a process, or all of a name, of a container or of a pod. */
export function whose({pids, of, group}) {
	if (group)
		return `${group === 'comm' ? 'comm' : 'container'}=${encodeURIComponent(of)}`;
	return /^\d+$/.test(pids) ? `pid=${pids}` : '';
}

/* Returns the range that a range is compared with, and what chooses there if that is another process. */
export function rangeBefore({from, until, against, rival, group}) {
	const by = against === 'before' ? until - from : Number(against), key = /^\d+$/.test(rival) ? 'pid' : group || 'comm';

	return {from: from - by, until: until - by,
		whose: rival && `before_${key === 'pod' ? 'container' : key}=${encodeURIComponent(rival)}`};
}

/* A rate with its unit: of samples the CPUs that they are; of what is held a weight. */
function rate(value, {unit, period_ns, state}) {
	return unit === 'samples' && period_ns ? `${(value * period_ns / 1e9).toFixed(3)} CPUs` : `${amount(value, unit)}${state ? '' : '/s'}`;
}

/* A change as what stands in a cell. */
function changed({before: was, after: is, error, change}, meta) {
	const sign = is > was ? '+' : '−';

	return change ? [`${sign}${rate(Math.abs(is - was), meta)}${error ? ` ± ${rate(error, meta)}` : ''}`, make('small', {},
		` ${rate(was, meta)} → ${rate(is, meta)}${was ? ` (${sign}${(100 * Math.abs(is / was - 1)).toFixed(0)} %)` : ''}`)]
		: [make('small', {}, 'within noise')];
}

function functionButton({name, kind}) {
	const label = labelOf(name, kind);

	return [make('button', {type: 'button', className: 'name', 'data-label': label}, named(label))];
}

/* What a range has of rows: of each the part that is in it, as a row may be longer than the range. */
function partOf(windows, from, until) {
	const has = {covered: 0, load: 0, lost: 0, twice: 0, period_ns: 0};
	let end = -Infinity;

	for (const one of [...windows].sort((a, b) => a.from - b.from)) {
		const begin = Math.max(one.from, from), stop = Math.min(one.until, until), length = one.until - one.from;

		if (stop <= begin)
			continue;
		const share = (stop - begin) / length;

		has.covered += share * one.covered;
		has.load += share * one.weight * (one.period_ns || 1);
		has.lost += share * one.lost;
		has.twice += Math.max(0, Math.min(stop, end) - begin) + share * Math.max(0, one.covered - length);
		has.period_ns ||= one.period_ns;
		end = Math.max(end, stop);
	}
	return has;
}

export class TimeLine {
	/* `view` has what is shown; onRange(probe, range, who) when another range is to be shown, onFunction(label) when a function
	 * is. alone(work) makes room for a request, say(text) tells of what came. */
	constructor(section, {view, onRange, onFunction, alone, say}) {
		const part = (name) => section.querySelector(name), select = (name, of) =>
			part(`[name=${name}]`).append(...of.map(([value, text]) => make('option', {value}, text)));

		Object.assign(this, {section, view, onRange, onFunction, alone, say, end: null, told: null, chosen: null, probe: ''});
		this.canvas = part('canvas');
		this.text = part('.range');
		this.changes = part('table');
		select('span', SPANS);
		select('against', AGAINST);
		part('[name=against]').value = view.against;
		part('[name=rival]').value = view.rival;
		section.addEventListener('toggle', () => section.open && this.load());
		part('[name=span]').onchange = () => this.load();
		part('[name=against]').onchange = part('[name=rival]').onchange = () => this.take();
		section.addEventListener('click', ({target}) => {
			const {step, label, pids, of, do: what} = target.closest('button')?.dataset ?? {};

			if (step)
				this.step(Number(step));
			else if (what)
				this.listUnusual().catch((error) => this.say(error.message, true));
			else if (pids)
				this.onRange(this.probes, {...this.lately, against: 'before', rival: ''}, {pids, of});
			else if (label)
				this.onFunction(label);
		});
		this.canvas.addEventListener('keydown', (event) => this.key(event));
		this.canvas.addEventListener('pointerdown', (event) => this.drag(event));
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
		new ResizeObserver(() => this.draw()).observe(this.canvas);
	}

	get span() {
		return Number(this.section.querySelector('[name=span]').value);
	}

	get probes() {
		return this.probe || this.view.probe;
	}

	/* The one of two probes whose times are shown, as a part of a query. */
	get one() {
		const {name, view} = partsOf(this.probes.split('+')[0]);

		return view ? `${name}&${view}` : name;
	}

	/* What is marked: it goes into the view when it is shown. */
	get range() {
		return this.chosen ?? this.view;
	}

	/* Goes to where the range of a link is, if that is further back. */
	meet() {
		const {view, section} = this, back = now() - view.from;

		if (this.told || !view.until || back < this.span)
			return;
		section.querySelector('[name=span]').value = SPANS.map(([span]) => span).find((span) => span >= view.until - view.from) ?? '604800';
		if (back > this.span)
			this.end = Math.min(Number(view.until) + this.span / 4, now());
	}

	/* Asks for what there is, up to now or to where somebody went back. */
	async load() {
		const {section, view, probes: probe} = this, chosen = whose(view);

		this.asking?.abort();
		if (!section.open || section.hidden)
			return;
		this.meet();
		const {signal} = this.asking = new AbortController(), until = this.end ?? now();
		let told = null;

		try {
			told = await this.alone(() => getJson(`/windows?probe=${this.one}&from=${until - this.span}`
				+ `&until=${until}${chosen && `&${chosen}`}`, {signal}));
		} catch (error) {
			if (!signal.aborted)
				this.text.textContent = error.message;
		}
		if (signal.aborted)
			return;
		Object.assign(this, {told, asked: `${probe};${chosen}`});
		if (!told)
			this.canvas.width = 0; /* what it shows is of something else */
		this.draw();
	}

	/* Something else is looked at. */
	follow() {
		const {view} = this;

		Object.assign(this, {chosen: null, probe: ''});
		for (const name of ['against', 'rival'])
			this.section.querySelector(`[name=${name}]`).value = view[name];
		if (view.source !== 'range' || this.asked !== `${view.probe};${whose(view)}`)
			this.load();
		else
			this.draw();
	}

	step(by) {
		const end = (this.end ?? now()) + by * this.span / 2;

		this.end = end >= now() ? null : end;
		this.load();
	}

	/* --- the picture --- */

	draw() {
		const {canvas, told, range} = this, width = canvas.clientWidth, scale = devicePixelRatio || 1;

		if (!told || !width)
			return;
		const {from, until} = told.range, context = canvas.getContext('2d'), style = getComputedStyle(canvas);
		const rateOf = (one) => one.state ? one.weight : one.covered ? one.weight * (one.period_ns || 1) / one.covered : 0;
		const most = Math.max(...told.windows.map(rateOf), 1e-9), x = (time) => (time - from) / (until - from) * width;

		Object.assign(canvas, {width: width * scale, height: HEIGHT * scale});
		context.scale(scale, scale);
		context.fillStyle = style.getPropertyValue('--narrow'); /* gaps stay as the ground is */
		context.fillRect(0, HEIGHT - 1, width, 1);
		context.globalAlpha = 0.8; /* times that a clock said twice are darker */
		for (const one of told.windows) {
			const height = Math.max(1, rateOf(one) / most * (HEIGHT - 4));

			context.fillStyle = style.getPropertyValue(one.lost ? '--bad' : '--link');
			context.fillRect(x(one.from), HEIGHT - height, Math.max(1, x(one.until) - x(one.from) - 0.5), height);
		}
		context.globalAlpha = 0.3;
		context.fillStyle = style.getPropertyValue('--match');
		if (range.until)
			context.fillRect(x(range.from), 0, Math.max(2, x(range.until) - x(range.from)), HEIGHT);
		this.tell();
	}

	/* Says what the range has, and what of it is missing. */
	tell() {
		const {told, view} = this, range = this.range.until ? this.range : told.range, from = Number(range.from), until = Number(range.until);
		const begin = Math.max(from, told.range.from), end = Math.min(until, told.range.until), words = [`${clock(from)} – ${clock(until)}`];
		const {covered, load, lost, twice, period_ns} = partOf(told.windows, begin, end), gap = end - begin - (covered - twice);
		const state = told.windows.findLast((one) => one.state && one.until > begin && one.until <= end);

		if (end <= begin)
			words.push('outside of this time line');
		else
			words.push(state ? amount(state.weight, told.unit) : covered ? rate(load / covered / (period_ns || 1), {unit: told.unit, period_ns}) : 'nothing was collected');
		if (covered && gap > 1)
			words.push(`${number(Math.round(gap))} s without`);
		if (twice > 1)
			words.push(`${number(Math.round(twice))} s twice: the clock was set back`);
		if (lost)
			words.push(`${number(Math.ceil(lost))} samples lost`);
		if (end > begin && (from < begin - 1 || (this.end && until > end + 1)))
			words.push('a part of it is outside of this time line');
		if (view.pids)
			words.unshift(whose(view) ? isolate(view.of || view.pids) : 'all processes');
		const text = words.join(' · ');

		if (this.text.textContent !== text)
			this.text.textContent = text;
	}

	/* --- choosing --- */

	timeAt(event) {
		const box = this.canvas.getBoundingClientRect(), {from, until} = this.told.range;

		return from + Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * (until - from);
	}

	drag(event) {
		if (!this.told || event.button)
			return;
		const {canvas} = this, anchor = this.timeAt(event), move = (to) => this.choose(Math.min(anchor, to), Math.max(anchor, to));
		const leave = () => {
			canvas.onpointermove = canvas.onpointerup = canvas.onpointercancel = null;
		};

		canvas.setPointerCapture(event.pointerId);
		canvas.onpointermove = (more) => move(this.timeAt(more));
		canvas.onpointercancel = () => {
			leave();
			this.chosen = null;
			this.draw();
		};
		canvas.onpointerup = (end) => {
			leave();
			if (Math.abs(end.clientX - event.clientX) < CLICK_PX) /* a click: what is there */
				this.choose(anchor - LATEST_S / 2, anchor + LATEST_S / 2);
			this.take();
		};
		move(anchor);
	}

	choose(from, until) {
		this.chosen = {from: Math.round(1000 * from) / 1000, until: Math.round(1000 * until) / 1000};
		this.draw();
	}

	/* Arrows move the range by its length; with Shift its end. Enter shows it. */
	key(event) {
		const {told} = this, by = {ArrowLeft: -1, ArrowRight: 1}[event.key];

		if (!told || event.ctrlKey || event.altKey || event.metaKey || (!by && event.key !== 'Enter'))
			return;
		event.preventDefault();
		event.stopPropagation();
		const until = Number(this.range.until) || told.range.until, from = Number(this.range.from) || until - LATEST_S;
		const length = event.shiftKey ? SHORTEST_S : until - from, to = Math.min(until + (by ?? 0) * length, now());

		if (event.shiftKey)
			this.choose(from, Math.max(from + SHORTEST_S, to));
		else
			this.choose(to - length, to);
		if (!by)
			this.take();
		else if (this.range.from < told.range.from)
			this.step(-1);
		else if (this.end && this.range.until > told.range.until)
			this.step(1);
	}

	take() {
		const {from, until} = this.range;

		if (until)
			this.onRange(this.probes, {from, until, ...Object.fromEntries(['against', 'rival']
				.map((name) => [name, this.section.querySelector(`[name=${name}]`).value.trim()]))});
	}

	/* --- what changed --- */

	/* Lists the functions that changed; null: nothing is compared. */
	list(told) {
		const {changes} = this;

		changes.hidden = !told;
		if (!told)
			return;
		const {before, after} = told, meta = {...told, period_ns: after.period_ns}, of = `of ${told.functions} functions changed beyond noise`;
		const says = told.changed ? `${told.changed} ${of}` : told.tells ? `None ${of}` : told.state ? 'Nothing was held in one of the ranges'
			: 'Too few windows to tell: six each are needed';
		this.fill(`${says}, compared with ${clock(before.from)} – ${clock(before.until)}${told.state ? '' : ` (${number(Math.round(before.covered))} s of it kept)`}.`,
			['Self', 'Total', 'Function'], told.changes.map((one) => [changed(one.self, meta), changed(one.total, meta), functionButton(one)]));
		this.say(`${says}.`);
	}

	/* Lists the processes that are unlike their own past: in the marked range, or lately. */
	async listUnusual() {
		const {from, until} = this.range, query = until ? `&from=${from}&until=${until}` : '';
		const told = await this.alone(() => getJson(`/anomalies?probe=${this.one}${query}`)), {before, after} = told;
		const meta = {...told, period_ns: after.period_ns}, of = `of ${told.processes + told.began} processes are unlike their past`;
		const says = told.tells ? `${told.abnormal || 'None'} ${of}` : 'Too few windows to tell: six each are needed';

		this.lately = {from: after.from, until: after.until};
		this.changes.hidden = false;
		this.fill(`${says}: ${clock(after.from)} – ${clock(after.until)}, compared with ${clock(before.from)} – ${clock(before.until)}.`,
			['Process', 'All of it', 'What changed most in it'], told.anomalies.map((one) => {
				const name = `[${one.pid}]${one.comm}`, {past, container, cgroup: {cpus, used_after} = {}} = one;
				const facts = [past !== 'known' && past, container, cpus && `${(100 * used_after).toFixed(0)} % of its ${number(cpus)} CPUs`];

				return [[make('button', {type: 'button', className: 'name', 'data-pids': one.pid, 'data-of': name}, named(name)),
					make('small', {}, ' ', named(facts.filter(Boolean).join(', ')))], changed(one.rate, meta),
				one.changes.slice(0, 1).map((most) => named(labelOf(most.name, most.kind)))];
			}));
		this.say(`${says}.`);
	}

	fill(caption, heads, rows) {
		this.changes.replaceChildren(make('caption', {}, caption),
			make('thead', {}, make('tr', {}, ...heads.map((text) => make('th', {scope: 'col'}, text)))),
			make('tbody', {}, ...rows.map((cells) => make('tr', {}, ...cells.map((cell, i) =>
				make('td', {className: VALUES.includes(heads[i]) ? 'value' : 'text'}, ...cell))))));
	}
}
