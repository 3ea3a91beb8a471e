/* Back in time: what history has of a probe, a range of that, and what changed in it. */
import {getJson} from './api.js';
import {labelOf} from './profile.js';
import {amount, clock, isolate, make, named, number} from './words.js';

const HEIGHT = 64, LATEST_S = 300;
export const AGAINST = {'': 'nothing', before: 'the time before', 3600: 'an hour before', 86400: 'a day before', 604800: 'a week before'};
const SPANS = {3600: 'hour', 21600: '6 hours', 86400: 'day', 604800: '7 days'};

/* Returns the range that a range is compared with. */
export function rangeBefore({from, until, against}) {
	const by = against === 'before' ? until - from : Number(against);

	return {from: from - by, until: until - by};
}

/* A rate with its unit: of samples the CPUs that they are. */
function rate(value, {unit, period_ns}) {
	return unit === 'samples' && period_ns ? `${(value * period_ns / 1e9).toFixed(3)} CPUs` : `${amount(value, unit)}/s`;
}

export class TimeLine {
	/* `view` has the probe, the range (from, until) and what it is compared with; onRange() when another is chosen. */
	constructor(section, {view, onRange, onFunction, say}) {
		const part = (name) => section.querySelector(name), select = (name, of) =>
			part(`[name=${name}]`).append(...Object.entries(of).map(([value, text]) => make('option', {value}, text)));

		Object.assign(this, {section, view, onRange, onFunction, say, end: null, told: null});
		this.canvas = part('canvas');
		this.text = part('.range');
		this.changes = part('table');
		select('span', SPANS);
		select('against', AGAINST);
		section.addEventListener('toggle', () => section.open && this.load());
		part('[name=span]').onchange = () => this.load();
		part('[name=against]').onchange = (event) => {
			view.against = event.target.value;
			this.take();
		};
		section.addEventListener('click', ({target}) => {
			const {step, label} = target.closest('button')?.dataset ?? {};

			if (step)
				this.step(Number(step));
			else if (label)
				this.onFunction(label);
		});
		this.canvas.addEventListener('keydown', (event) => this.key(event));
		this.canvas.addEventListener('pointerdown', (event) => this.drag(event));
		new ResizeObserver(() => this.draw()).observe(this.canvas);
	}

	get span() {
		return Number(this.section.querySelector('[name=span]').value);
	}

	/* Asks for what there is, up to now or to where somebody went back. */
	async load() {
		const until = this.end ?? Date.now() / 1000, {probe, pids} = this.view;

		if (!this.section.open)
			return;
		try {
			this.told = await getJson(`/windows?probe=${encodeURIComponent(probe.split('+')[0])}&from=${until - this.span}&until=${until}`
				+ (/^\d+$/.test(pids) ? `&pid=${pids}` : ''));
		} catch (error) {
			this.told = null;
			this.text.textContent = error.message;
		}
		this.section.querySelector('[name=against]').value = this.view.against;
		this.draw();
	}

	step(by) {
		const end = (this.end ?? Date.now() / 1000) + by * this.span / 2;

		this.end = end >= Date.now() / 1000 ? null : end;
		this.load();
	}

	/* --- the picture --- */

	draw() {
		const {canvas, told, view} = this, width = canvas.clientWidth, scale = devicePixelRatio || 1;

		if (!told || !width)
			return;
		const {from, until} = told.range, context = canvas.getContext('2d'), style = getComputedStyle(canvas);
		const most = Math.max(...told.windows.map(this.rateOf), 1e-9), x = (time) => (time - from) / (until - from) * width;

		Object.assign(canvas, {width: width * scale, height: HEIGHT * scale});
		context.scale(scale, scale);
		context.fillStyle = style.getPropertyValue('--narrow'); /* gaps stay as the ground is */
		context.fillRect(0, HEIGHT - 1, width, 1);
		context.globalAlpha = 0.8; /* times that a clock said twice are darker */
		for (const one of told.windows) {
			const height = Math.max(1, this.rateOf(one) / most * (HEIGHT - 4));

			context.fillStyle = style.getPropertyValue(one.lost ? '--bad' : '--link');
			context.fillRect(x(one.from), HEIGHT - height, Math.max(1, x(one.until) - x(one.from) - 0.5), height);
		}
		context.globalAlpha = 0.3;
		context.fillStyle = style.getPropertyValue('--match');
		if (view.until)
			context.fillRect(x(view.from), 0, Math.max(2, x(view.until) - x(view.from)), HEIGHT);
		this.tell();
	}

	/* What a second had: where samples are counted, of ns on CPUs. */
	rateOf(window) {
		return window.covered ? window.weight * (window.period_ns || 1) / window.covered : 0;
	}

	/* Says what the range has, gaps too. */
	tell() {
		const {told, view} = this, range = view.until ? view : told.range, {from, until} = range;
		const within = told.windows.filter((one) => (one.from + one.until) / 2 >= from && (one.from + one.until) / 2 < until);
		const sum = (key) => within.reduce((all, one) => all + one[key], 0), covered = sum('covered'), gap = until - from - covered;
		const words = [`${clock(from)} – ${clock(until)}`, covered ? rate(within.reduce((all, one) =>
			all + this.rateOf(one) * one.covered, 0) / covered / (within[0].period_ns || 1), {...told, ...within[0]})
			: 'nothing was collected'];

		if (covered && gap > 1)
			words.push(`${number(Math.round(gap))} s without`);
		if (gap < -1)
			words.push(`${number(Math.round(-gap))} s twice: the clock was set back`);
		if (sum('lost'))
			words.push(`${number(sum('lost'))} samples lost`);
		if (/^\d+$/.test(view.pids))
			words.unshift(isolate(view.of || view.pids));
		this.text.textContent = words.join(' · ');
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

		canvas.setPointerCapture(event.pointerId);
		canvas.onpointermove = (more) => move(this.timeAt(more));
		canvas.onpointerup = canvas.onpointercancel = () => {
			canvas.onpointermove = canvas.onpointerup = canvas.onpointercancel = null;
			if (!this.view.until || this.view.until - this.view.from < 1) /* a click: what is there */
				this.choose(anchor - LATEST_S / 2, anchor + LATEST_S / 2);
			this.take();
		};
		move(anchor);
	}

	choose(from, until) {
		Object.assign(this.view, {from: Math.round(1000 * from) / 1000, until: Math.round(1000 * until) / 1000});
		this.draw();
	}

	/* Arrows move the range by its length; with Shift its end. Enter shows it. */
	key(event) {
		const {view, told} = this, by = {ArrowLeft: -1, ArrowRight: 1}[event.key];

		if (!told || (!by && event.key !== 'Enter'))
			return;
		const until = Number(view.until) || told.range.until, from = Number(view.from) || until - LATEST_S, length = until - from;

		if (by && event.shiftKey)
			this.choose(from, Math.max(from + 1, until + by * 30));
		else
			this.choose(from + (by ?? 0) * length, until + (by ?? 0) * length);
		if (!by)
			this.take();
		event.preventDefault();
		event.stopPropagation();
	}

	take() {
		if (this.view.until)
			this.onRange();
	}

	/* --- what changed --- */

	/* Lists the functions that changed; null: nothing is compared. */
	list(told) {
		const {changes} = this;

		changes.hidden = !told;
		if (!told)
			return;
		const {before, after} = told, meta = {...told, period_ns: after.period_ns};
		const says = told.changed ? `${told.changed} of ${told.functions} functions changed beyond noise`
			: told.tells ? `None of ${told.functions} functions changed beyond noise` : 'Too few windows to tell: six each are needed';
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
	}
}
