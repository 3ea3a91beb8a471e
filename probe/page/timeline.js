/* Back in time: what history has of a probe, a range of that, and what changed in it. */
import {getJson} from './api.js';
import {labelOf} from './profile.js';
import {amount, clock, isolate, make, named, number} from './words.js';

const HEIGHT = 64, LATEST_S = 300, SHORTEST_S = 30, CLICK_PX = 4;
const AGAINST = [['', 'nothing'], ['before', 'the time before'], ['3600', 'an hour before'], ['86400', 'a day before'],
	['604800', 'a week before']];
const SPANS = [['3600', 'hour'], ['21600', '6 hours'], ['86400', 'day'], ['604800', '7 days']];

const now = () => Date.now() / 1000;

/* Returns the range that a range is compared with. */
export function rangeBefore({from, until, against}) {
	const by = against === 'before' ? until - from : Number(against);

	return {from: from - by, until: until - by};
}

/* A rate with its unit: of samples the CPUs that they are. */
function rate(value, {unit, period_ns}) {
	return unit === 'samples' && period_ns ? `${(value * period_ns / 1e9).toFixed(3)} CPUs` : `${amount(value, unit)}/s`;
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
	/* `view` has what is shown; onRange(probe, range) when another range is to be shown, onFunction(label) when a function
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
		section.addEventListener('toggle', () => section.open && this.load());
		part('[name=span]').onchange = () => this.load();
		part('[name=against]').onchange = () => this.take();
		section.addEventListener('click', ({target}) => {
			const {step, label} = target.closest('button')?.dataset ?? {};

			if (step)
				this.step(Number(step));
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
		const {section, view: {pids}} = this, probe = this.probe || this.view.probe;

		this.asking?.abort();
		if (!section.open || section.hidden)
			return;
		this.meet();
		const {signal} = this.asking = new AbortController(), until = this.end ?? now();
		let told = null;

		try {
			told = await this.alone(() => getJson(`/windows?probe=${encodeURIComponent(probe.split('+')[0])}&from=${until - this.span}`
				+ `&until=${until}${/^\d+$/.test(pids) ? `&pid=${pids}` : ''}`, {signal}));
		} catch (error) {
			if (!signal.aborted)
				this.text.textContent = error.message;
		}
		if (signal.aborted)
			return;
		Object.assign(this, {told, asked: `${probe};${pids}`});
		if (!told)
			this.canvas.width = 0; /* what it shows is of something else */
		this.draw();
	}

	/* Something else is looked at. */
	follow() {
		const {view} = this;

		Object.assign(this, {chosen: null, probe: ''});
		this.section.querySelector('[name=against]').value = view.against;
		if (view.source !== 'range' || this.asked !== `${view.probe};${view.pids}`)
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
		const rateOf = (one) => one.covered ? one.weight * (one.period_ns || 1) / one.covered : 0;
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

		if (end <= begin)
			words.push('outside of this time line');
		else
			words.push(covered ? rate(load / covered / (period_ns || 1), {unit: told.unit, period_ns}) : 'nothing was collected');
		if (covered && gap > 1)
			words.push(`${number(Math.round(gap))} s without`);
		if (twice > 1)
			words.push(`${number(Math.round(twice))} s twice: the clock was set back`);
		if (lost)
			words.push(`${number(Math.ceil(lost))} samples lost`);
		if (end > begin && (from < begin - 1 || (this.end && until > end + 1)))
			words.push('a part of it is outside of this time line');
		if (view.pids)
			words.unshift(/^\d+$/.test(view.pids) ? isolate(view.of || view.pids) : 'all processes');
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
			this.onRange(this.probe || this.view.probe, {from, until, against: this.section.querySelector('[name=against]').value});
	}

	/* --- what changed --- */

	/* Lists the functions that changed; null: nothing is compared. */
	list(told) {
		const {changes} = this;

		changes.hidden = !told;
		if (!told)
			return;
		const {before, after} = told, meta = {...told, period_ns: after.period_ns}, of = `of ${told.functions} functions changed beyond noise`;
		const says = told.changed ? `${told.changed} ${of}` : told.tells ? `None ${of}` : 'Too few windows to tell: six each are needed';
		const cell = ({before: was, after: is, error, change}) => make('td', {className: 'value'}, ...(change
			? [`${is > was ? '+' : '−'}${rate(Math.abs(is - was), meta)} ± ${rate(error, meta)}`,
				make('small', {}, ` ${rate(was, meta)} → ${rate(is, meta)}${was ? ` (${is > was ? '+' : '−'}${(100 * Math.abs(is / was - 1)).toFixed(0)} %)` : ''}`)]
			: [make('small', {}, 'within noise')]));

		changes.replaceChildren(make('caption', {}, `${says}, compared with ${clock(before.from)} – ${clock(before.until)}`
			+ ` (${number(Math.round(before.covered))} s of it kept).`),
		make('thead', {}, make('tr', {}, ...['Self', 'Total', 'Function'].map((text) => make('th', {scope: 'col'}, text)))),
		make('tbody', {}, ...told.changes.map((one) => make('tr', {}, cell(one.self), cell(one.total),
			make('td', {className: 'text'}, make('button', {type: 'button', className: 'name', 'data-label': labelOf(one.name, one.kind)},
				named(labelOf(one.name, one.kind))))))));
		this.say(`${says}.`);
	}
}
