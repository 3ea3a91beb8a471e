/* What the user looks at, and where it comes from: the next seconds, what comes from now on, what was collected so far,
 * a range of history. */
import {follow, getBytes, getJson, host, partsOf, query} from './api.js';
import {Builder, fromFrames, fromJson, hotCold, withGone} from './builder.js';
import {show} from './panel.js';
import {alone} from './processes.js';
import {labelOf} from './profile.js';
import {listChanges, timeLineFollows} from './timeline.js';
import {keep, view} from './view.js';
import {get, isolate, say} from './words.js';

const LIVE_S = 2, BEGAN = 'stackprobe-began';
const SOURCES = {open, range, live: goOn, take: (asked) => asked.probe.includes('+') ? alone(() => take(asked)) : take(asked)};

let paused = null, ticking;

export let going = null; /* what is under way, to be given up */
export let live = null;

/* --- what is asked for --- */

const beginning = () => JSON.stringify({...view, tab: '', zoom: '', q: '', steps: '', colour: '', icicle: '', function: ''});

/* Returns whether this tab has begun the same before. */
export const hasBegun = () => sessionStorage.getItem(BEGAN) === beginning();

/* Looks at some processes ({pids, of, group, thread}): of what was done to the profile before, search and colours stay. */
export async function look(source, {pids, of, group = '', thread = ''}, probe = get('[name=probe]').value, range = {}) {
	if (['live', 'range'].includes(source) && probe.includes('+'))
		throw new Error('That is for one probe at a time.');
	if (source === 'range' && pids.includes(',') && !group)
		throw new Error('A range is of one process, or of all.');
	if (source !== 'range' && probe.split('~')[2]) /* what is so old isn't of the next seconds */
		source = 'open';
	Object.assign(view, {source, probe, pids, of, group, thread, seconds: '10', from: '', until: '', against: '', rival: ''}, range,
		source !== 'range' && {zoom: [], steps: [], function: '', thread: ''});
	get('[name=pid]').value = isPid(pids) ? pids : '';
	if (view.tab === 'tree')
		view.tab = 'graph';
	keep();
	begin();
}

/* Shows a range of history, which has no ages. */
export const lookBack = (probe, range, who = view) => look('range', who, probe.split('~').slice(0, 2).join('~'), range);

export function begin() {
	get('#offer').hidden = true;
	sessionStorage.setItem(BEGAN, beginning());
	say('');
	(SOURCES[view.source] ?? SOURCES.take)({...view});
	timeLineFollows();
}

/* A link may come from anybody: it shows what there is, but what it would begin waits for a click, unless this tab
 * has begun the same before. */
export function offer() {
	const isBegun = ['open', 'range'].includes(view.source) || hasBegun();

	if (view.source && isBegun)
		begin();
	get('#offer').hidden = !view.source || isBegun;
	get('#offer span').textContent = isolate(`This link profiles ${view.of} (pid ${view.pids || 'any'}) with `
		+ `${view.probe}, ${view.source === 'live' ? 'live' : `${view.seconds} s`}. `);
}

/* --- what is under way --- */

function busy({probe, of, pids}, what) {
	get('#busy').textContent = what && isolate(`${probe} of ${of || pids || 'the chosen processes'}: ${what}`);
	get('#cancel').hidden = !what;
}

export function stop() {
	going?.abort();
	going = paused = live = null;
	clearInterval(ticking);
	busy({}, '');
}

/* Runs work(signal) in the place of what was under way. */
async function run(work) {
	stop();
	const mine = going = new AbortController();

	listChanges(null);
	try {
		await work(mine.signal);
	} finally {
		if (going === mine)
			stop();
	}
}

/* Shows a profile with what it is of: what the user asks for meanwhile may be something else. */
function tell(signal, profile, asked) {
	signal.throwIfAborted();
	Object.assign(profile.meta, {of: titleOf(asked), probe: asked.probe});
	show(profile);
}

export const titleOf = ({of, pids, thread}) => thread ? `thread ${thread} of ${of || pids || 'all processes'}` : of || pids;

/* Returns what chooses processes: none, one, or several. */
const who = ({pids}) => ({[pids.includes(',') ? 'pids' : 'pid']: pids});

function path(name, extension, values) {
	const {probe, ...part} = partsOf(name);

	return `/flamegraph/${encodeURIComponent(probe)}.${extension}?${query({...part, ...values})}`;
}

const getFrames = async (name, values, signal) => fromFrames(await getBytes(path(name, 'frames', values), {signal}));

/* Takes the next seconds of some processes, by a probe, or by those of time on and off CPUs at once (`a+b`). */
function take(asked) {
	const {probe, seconds} = asked;

	return run(async (signal) => {
		const until = Date.now() + 1000 * seconds;
		const tick = () => busy(asked, `${Math.max(0, Math.round((until - Date.now()) / 1000))} s left`);

		tick();
		ticking = setInterval(tick, 1000);
		const parts = await Promise.all(probe.split('+').map((name) => getFrames(name, {...who(asked), seconds}, signal)));

		tell(signal, parts[1] ? hotCold(...parts) : parts[0], asked);
	});
}

/* Shows what has been collected of a probe since its last file. */
function open(asked) {
	const {probe} = asked, min_age = probe.split('~')[2];

	return run(async (signal) => {
		busy(asked, 'what was collected so far');
		tell(signal, await getFrames(probe, {...who(asked), min_age}, signal), asked);
	});
}

/* --- history --- */

const isPid = (text) => /^\d+$/.test(text);
const keyOf = (group) => group === 'comm' ? 'comm' : 'container'; /* pods are asked for as containers are */

/* Returns what chooses the stacks of a range: a process, or all of a name, of a container or of a pod; and a thread. */
export const whose = ({pids, of, group, thread}) => ({...group ? {[keyOf(group)]: of} : isPid(pids) && {pid: pids}, thread});

/* Returns by label how much of the largest change a function's is: from -1 to 1. */
function shares(changes) {
	const size = ({total, self}) => total.change ? total.after - total.before : self.after - self.before;
	const most = Math.max(...changes.map((one) => Math.abs(size(one))));

	return new Map(changes.map((one) => [labelOf(one), size(one) / most]));
}

/* Shows a range of history, and what changed in it if it is compared with another, of another process perhaps. */
function range(asked) {
	const {probe, from, until, against, rival, group} = asked;

	return run(async (signal) => {
		busy(asked, 'a range of history');
		const profile = await getFrames(probe, {...whose(asked), from, until}, signal);

		tell(signal, profile, asked);
		if (!against && !rival)
			return;
		const back = against === 'before' ? until - from : Number(against), key = isPid(rival) ? 'pid' : keyOf(group || 'comm');
		const before = {from: from - back, until: until - back};
		const told = await getJson(`/changes?${query({top: 1000, ...partsOf(probe), ...whose(asked), from, until,
			before_from: before.from, before_until: before.until, [`before_${key}`]: rival})}`, {signal});
		const earlier = await getFrames(probe, {...rival ? {[key]: rival} : whose(asked), ...before}, signal);

		profile.frames.changes = shares(told.changes);
		tell(signal, withGone(profile, earlier, told.state ? 1 : told.after.covered / told.before.covered * (earlier.meta.period_ns / profile.meta.period_ns || 1), rival), asked);
		listChanges(told);
	});
}

/* --- live --- */

/* Adds up what comes, each 2 s, to what `begun` has. A hidden tab asks for nothing; what came before stays. */
function goOn(asked, begun = {asked, builder: new Builder(), meta: {}}) {
	if (document.hidden)
		return pause(begun);
	return run(async (signal) => {
		let interval = null;

		live = begun;
		busy(asked, 'live');
		await follow(path(asked.probe, 'json', {...who(asked), every: LIVE_S}), (line) => {
			if (line.missed)
				say(`${line.missed} intervals are missing: the page was too slow.`, true);
			else if (line.ended)
				throw new Error(line.ended);
			else if (line.from)
				interval = line;
			else if (line.children && !signal.aborted)
				add(signal, begun, interval, fromJson(line, {}));
		}, {signal});
	});
}

/* Adds an interval: its tree, and what its line of time tells of it. */
function add(signal, {asked, builder, meta}, interval, profile) {
	const {probe, view: part} = partsOf(asked.probe), found = host.probes.find(({name}) => name === probe);
	const {title, unit} = found.views.find(({name}) => name === part) ?? found;

	interval.seconds = (interval.until - interval.from) / 1000;
	builder.merge(profile);
	for (const key of ['lost', 'truncated', 'left_out', 'seconds'])
		meta[key] = (meta[key] ?? 0) + interval[key];
	meta.from ??= interval.from / 1000;
	tell(signal, builder.finish({...meta, until: interval.until / 1000, title, unit, period_ns: interval.period_ns, host: host.host}), asked);
}

function pause(begun) {
	stop();
	paused = begun;
}

/* Ends or goes on with what is live, as the tab is seen or not. */
export function liveIfSeen() {
	if (document.hidden && live)
		pause(live);
	else if (!document.hidden && paused)
		goOn(paused.asked, paused);
}
