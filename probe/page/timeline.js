/* Back in time: what history has of a probe, a range of that, and what changed in it. */
import {getJson, partsOf, query} from './api.js';
import {inks} from './colours.js';
import {openLabel} from './panel.js';
import {alone} from './processes.js';
import {labelOf} from './profile.js';
import {lookBack, titleOf, whose} from './taking.js';
import {view} from './view.js';
import {amount, clock, clocks, facts, fill, get, isolate, make, named, nameButton, number, onKeys, options, say} from './words.js';

const HEIGHT = 64, LATEST_S = 300, SHORTEST_S = 30, CLICK_PX = 4;
const WEEK = 604800, SPANS = [[3600, 'hour'], [21600, '6 hours'], [86400, 'day'], [WEEK, '7 days']];
const EVENTS = 200, NEWS = 10; /* that are listed */
const TOO_FEW = 'Too few windows to tell: six each are needed';

const section = get('#history'), canvas = get('#history canvas'), changes = get('#history table');
const field = Object.fromEntries(['span', 'against', 'rival'].map((name) => [name, get(`[name=${name}]`)]));
const says = get('.range');

let told = null, asked, asking, probe = ''; /* what is shown; what of; a probe that was chosen but isn't shown */
let end = null; /* where somebody went back to; null: now */
let marked = null; /* a range that isn't shown yet */
let anchor = null; /* where somebody began to drag */

const now = () => Date.now() / 1000;
const span = () => Number(field.span.value);
const probes = () => probe || view.probe;
const range = () => marked ?? view;
const whatOf = (name) => JSON.stringify([name, whose(view)]);

field.span.append(...options(SPANS));
field.against.append(...options([['', 'nothing'], ['before', 'the time before'], [3600, 'an hour before'], [86400, 'a day before'],
	[WEEK, 'a week before']]));

/* What is asked for: of two probes the first. */
const one = () => partsOf(probes().split('+')[0]);

/* --- what there is --- */

/* Goes to where the range of a link is. */
function meet() {
	const back = now() - view.from;

	if (told || !view.until)
		return;
	field.span.value = SPANS.find(([value]) => value >= back)?.[0] ?? WEEK;
	if (back > WEEK)
		end = Number(view.until);
}

/* Asks for what there is, up to now or to where somebody went back. */
export async function loadTimeLine() {
	const what = whatOf(probes());

	asking?.abort();
	if (!section.open || section.hidden)
		return;
	meet();
	const {signal} = asking = new AbortController(), until = end ?? now(), times = {from: until - span(), until};

	try {
		const windows = await alone(() => getJson(`/windows?${query({...one(), ...times, ...whose(view)})}`, {signal}));
		const happened = await alone(() => getJson(`/events?${query(times)}`, {signal})).catch(() => ({events: [], left_out: 0}));

		signal.throwIfAborted();
		told = {...windows, ...happened, range: windows.range};
		asked = what;
		listEvents();
		drawTimeLine();
	} catch (error) {
		signal.throwIfAborted();
		told = null;
		says.textContent = error.message;
		canvas.width = 0; /* what it shows is of something else */
	}
}

function listEvents() {
	const lines = told.events.slice(-EVENTS).reverse().map(({time, kind, text}) => make('li', {}, `${clock(time)} ${kind}: `, named(text)));
	const more = told.left_out + told.events.length - lines.length;

	get('.events ul').replaceChildren(...lines, ...more ? [make('li', {}, `and ${number(more)} before these`)] : []);
}

/* Something else is looked at. */
export function timeLineFollows() {
	marked = null;
	probe = '';
	field.against.value = view.against;
	field.rival.value = view.rival;
	if (view.source !== 'range' || asked !== whatOf(view.probe))
		loadTimeLine();
	else
		drawTimeLine();
}

export function setTimeLineProbe(name) {
	probe = name;
	loadTimeLine();
}

/* Goes back or on by halves of what is seen. */
export function stepTimeLine(by) {
	const to = (end ?? now()) + by * span() / 2;

	end = to >= now() ? null : to;
	loadTimeLine();
}

/* --- the picture --- */

export function drawTimeLine() {
	const width = canvas.clientWidth, scale = devicePixelRatio;

	if (!told || !width)
		return;
	const {from, until} = told.range, context = canvas.getContext('2d');
	const rateOf = (row) => row.state ? row.weight : row.covered ? row.weight * (row.period_ns || 1) / row.covered : 0;
	const most = Math.max(...told.windows.map(rateOf), 1e-9), x = (time) => (time - from) / (until - from) * width;
	const box = (colour, alpha, ...place) => {
		Object.assign(context, {fillStyle: colour, globalAlpha: alpha});
		context.fillRect(...place);
	};

	Object.assign(canvas, {width: width * scale, height: HEIGHT * scale});
	context.scale(scale, scale);
	box(inks.narrow, 1, 0, HEIGHT - 1, width, 1); /* gaps stay as the ground is */
	for (const row of told.windows) { /* times that a clock said twice are darker */
		const height = Math.max(1, rateOf(row) / most * (HEIGHT - 4));

		box(row.lost ? inks.bad : inks.link, 0.8, x(row.from), HEIGHT - height, Math.max(1, x(row.until) - x(row.from) - 0.5), height);
	}
	for (const {time, kind} of told.events) /* of processes at the top alone: there are many */
		box(inks.narrow, 1, x(time), 0, 1, ['target', 'exec', 'container'].includes(kind) ? 5 : HEIGHT);
	if (range().until)
		box(inks.match, 0.3, x(range().from), 0, Math.max(2, x(range().until) - x(range().from)), HEIGHT);
	tell();
}

/* What a range has of rows: of each the part that is in it, as a row may be longer than the range. */
function partOf(windows, from, until) {
	const has = {covered: 0, load: 0, lost: 0, twice: 0, period_ns: 0};
	let last = -Infinity;

	for (const row of [...windows].sort((a, b) => a.from - b.from)) {
		const begin = Math.max(row.from, from), stop = Math.min(row.until, until), length = row.until - row.from;

		if (stop <= begin)
			continue;
		const share = (stop - begin) / length;

		has.covered += share * row.covered;
		has.load += share * row.weight * (row.period_ns || 1);
		has.lost += share * row.lost;
		has.twice += Math.max(0, Math.min(stop, last) - begin) + share * Math.max(0, row.covered - length);
		has.period_ns ||= row.period_ns;
		last = Math.max(last, stop);
	}
	return has;
}

/* Says what the range has, and what of it is missing. */
function tell() {
	const [from, until] = [range().until ? range() : told.range].flatMap((of) => [Number(of.from), Number(of.until)]);
	const begin = Math.max(from, told.range.from), stop = Math.min(until, told.range.until), isIn = stop > begin;
	const {covered, load, lost, twice, period_ns} = partOf(told.windows, begin, stop), gap = stop - begin - (covered - twice);
	const state = told.windows.findLast((row) => row.state && row.until > begin && row.until <= stop);

	says.textContent = facts(
		view.pids || view.thread ? isolate(String(query(whose(view))) ? titleOf(view) : 'all processes') : '',
		clocks({from, until}),
		!isIn ? 'outside of this time line' : state ? amount(state.weight, told.unit)
			: covered ? rate(load / covered / (period_ns || 1), {unit: told.unit, period_ns}) : 'nothing was collected',
		covered && gap > 1 && `${number(Math.round(gap))} s without`,
		twice > 1 && `${number(Math.round(twice))} s twice: the clock was set back`,
		lost && `${number(Math.ceil(lost))} samples lost`,
		isIn && (from < begin - 1 || (end && until > stop + 1)) && 'a part of it is outside of this time line',
	);
}

/* --- choosing --- */

function timeAt(x) {
	const box = canvas.getBoundingClientRect(), {from, until} = told.range;

	return from + Math.min(1, Math.max(0, (x - box.left) / box.width)) * (until - from);
}

function choose(from, until) {
	marked = {from: Number(from.toFixed(3)), until: Number(until.toFixed(3))};
	drawTimeLine();
}

canvas.onpointerdown = ({button, pointerId, clientX}) => {
	if (!told || button)
		return;
	anchor = clientX;
	canvas.setPointerCapture(pointerId);
};
canvas.onpointermove = ({clientX: x}) => anchor !== null && choose(timeAt(Math.min(anchor, x)), timeAt(Math.max(anchor, x)));
canvas.onpointercancel = () => {
	anchor = marked = null;
	drawTimeLine();
};
canvas.onpointerup = ({clientX: x}) => {
	if (anchor === null)
		return;
	if (Math.abs(x - anchor) < CLICK_PX) /* a click: what is there */
		choose(timeAt(x) - LATEST_S / 2, timeAt(x) + LATEST_S / 2);
	anchor = null;
	take();
};

/* Moves the range by its length; with Shift its end by less. 0 shows it. */
function move(event, by) {
	if (!told || event.ctrlKey || event.altKey || event.metaKey)
		return false;
	const until = Number(range().until) || told.range.until, from = Number(range().from) || until - LATEST_S;
	const length = event.shiftKey ? SHORTEST_S : until - from, to = Math.min(until + by * length, now());

	if (event.shiftKey)
		choose(from, Math.max(from + SHORTEST_S, to));
	else
		choose(to - length, to);
	if (!by)
		take();
	else if (range().from < told.range.from)
		stepTimeLine(-1);
	else if (end && range().until > told.range.until)
		stepTimeLine(1);
	return true;
}

onKeys(canvas, {ArrowLeft: (event) => move(event, -1), ArrowRight: (event) => move(event, 1), Enter: (event) => move(event, 0)});

function take() {
	const {from, until} = range();

	if (until)
		lookBack(probes(), {from, until, against: field.against.value, rival: field.rival.value.trim()});
}

section.ontoggle = () => section.open && loadTimeLine();
field.span.onchange = () => loadTimeLine();
field.against.onchange = field.rival.onchange = take;
new ResizeObserver(drawTimeLine).observe(canvas);

/* --- what changed --- */

/* A rate with its unit: of samples the CPUs that they are; of what is held a weight. */
function rate(value, {unit, period_ns, state}) {
	return period_ns ? `${(value * period_ns / 1e9).toFixed(3)} CPUs` : `${amount(value, unit)}${state ? '' : '/s'}`;
}

const grown = (was, is) => !was ? 'new' : !is ? 'gone' : `${is > was ? '+' : '−'}${(100 * Math.abs(is / was - 1)).toFixed(0)} %`;

/* A change as what stands in a cell. */
function changed({before: was, after: is, error, change}, meta) {
	return change ? [`${is > was ? '+' : '−'}${rate(Math.abs(is - was), meta)}${error ? ` ± ${rate(error, meta)}` : ''}`,
		make('small', {}, ` ${rate(was, meta)} → ${rate(is, meta)} (${grown(was, is)})`)]
		: [make('small', {}, meta.state ? 'as it was' : 'within noise')];
}

/* Shows what was found, as a table, and says it. */
function list(found, more, columns, rows) {
	changes.hidden = false;
	fill(changes, `${found}${more}.`, columns.map((title) => [title, /^(Self|Total|All)/.test(title) ? 'value' : 'text']), rows);
	say(`${found}.`);
}

/* Lists the functions that changed; null: nothing is compared. */
export function listChanges(answer) {
	changes.hidden = true;
	if (!answer)
		return;
	const {before, after, state, functions} = answer, meta = {...answer, period_ns: after.period_ns};
	const found = answer.changed || answer.tells ? `${answer.changed || 'None'} of ${functions} functions changed beyond noise`
		: state ? 'Nothing was held in one of the ranges' : TOO_FEW;

	list(found, `, compared with ${clocks(before)}${state ? '' : ` (${number(Math.round(before.covered))} s of it kept)`}`,
		['Self', 'Total', 'Function'], answer.changes.map((row) => [changed(row.self, meta), changed(row.total, meta),
			[nameButton(labelOf(row), () => openLabel(labelOf(row)))]]));
}

/* Lists the processes that are unlike their own past, in the marked range or lately, and those that have none. */
export async function listUnusual() {
	const {from, until} = range(), shown = probes();
	const answer = await alone(() => getJson(`/anomalies?${query({...one(), from, until})}`));
	const {before, after, anomalies, abnormal, processes} = answer, meta = {...answer, period_ns: after.period_ns};
	const row = ({pid, comm, container, pod}, more, ...cells) => {
		const of = `[${pid}]${comm}`;

		return [[nameButton(of, () => lookBack(shown, {from: after.from, until: after.until, against: 'before'}, {pids: String(pid), of})), make('small', {}, ' ', named(facts(container ?? pod, ...more)))],
			...cells];
	};
	const quota = ({cpus, used_after: used} = {}) => cpus && `${used === undefined ? '' : `${(100 * used).toFixed(0)} % of its `}${number(cpus)} CPUs`;
	const most = (of) => [named(labelOf(of)), ' ', ...changed(of.self.change ? of.self : of.total, meta)];

	list(answer.tells ? `${abnormal || 'None'} of ${processes} processes are unlike their past` : TOO_FEW,
		`: ${clocks(after)}, compared with ${clocks(before)}`, ['Process', 'All of it', 'What changed most in it'], [
			...anomalies.map((it) => row(it, [it.silent && 'silent now', quota(it.cgroup)], changed(it.rate, meta), it.changes.slice(0, 1).flatMap(most))),
			...answer.new.slice(0, NEWS).map((it) => row(it, ['new'], [rate(it.rate, meta)], [])),
		]);
}
