/* The page: what belongs to which part, keys, and the address. */
import {host, may, meetHost, useToken} from './api.js';
import {readColours} from './colours.js';
import {act as actOnProfile, apply, chosen, closeMenu, move, openTab, refresh, shown} from './panel.js';
import {readProbes} from './probes.js';
import {chosenRow, restartList, startList, takeRow} from './processes.js';
import {setCharts} from './scheduler.js';
import {begin, going, hasBegun, live, liveIfSeen, look, lookBack, offer, stop} from './taking.js';
import {drawTimeLine, listUnusual, loadTimeLine, setTimeLineProbe, stepTimeLine} from './timeline.js';
import {readView, view} from './view.js';
import {facts, get, make, options, say} from './words.js';

const AGES = [['~60', ', ≥ 1 min'], ['~600', ', ≥ 10 min'], ['~3600', ', ≥ 1 h']];
const NEEDS = {
	metrics: 'see that the daemon runs', own: 'profile processes of your own', read: 'look at what was collected',
	profile: 'profile',
};
const probe = get('[name=probe]'), pid = get('[name=pid]'), tokenField = get('[name=token]');

/* --- keys and buttons --- */

/* What is done, but to the profile. */
const DOES = {
	again: () => view.source && look('take', view),
	live: () => {
		const row = chosenRow()?.row, isRow = document.activeElement.closest('#processes tr'), wanted = pid.value.trim();

		if (live)
			stop();
		else if (row && (isRow || (!wanted && !view.source)))
			takeRow(row, 'live');
		else if (wanted && wanted !== view.pids)
			look('live', {pids: wanted, of: wanted});
		else if (view.source)
			look('live', view);
	},
	begin, cancel: stop,
	processes: () => chosenRow()?.focus(),
	colours: () => {
		const ways = get('[name=colour]');

		ways.selectedIndex = (ways.selectedIndex + 1) % ways.length;
		ways.onchange();
	},
	history: () => {
		const isOpen = get('#history').toggleAttribute('open');

		get(`#history ${isOpen ? 'canvas' : 'summary'}`).focus();
	},
	earlier: () => stepTimeLine(-1), later: () => stepTimeLine(1), unusual: listUnusual,
	thread: () => shown && lookAtThread(chosen()),
	help: () => get('#help').showModal(),
	token: () => get('#token').showModal(),
};

/* key: [what is done, words] */
const KEYS = {
	t: ['again', 'take the next 10 s again'], l: ['live', 'live: begin or end'], '/': ['search', 'search'],
	n: ['next', 'next match'], N: ['previous', 'match before'], z: ['zoom', 'zoom into the frame'],
	0: ['reset', 'the whole profile'], h: ['hide', 'hide the function: its callees go to its callers'],
	o: ['only', 'only stacks with the function'], x: ['without', 'only stacks without the function'],
	c: ['collapse', 'what the function calls as one with it'], r: ['recursion', 'direct recursion as one frame'],
	u: ['undo', 'take the last step back'], y: ['copy', 'copy the stack'], s: ['callers', 'callers and callees'],
	i: ['turn', 'root at the top, or at the bottom'], k: ['colours', 'next way of colouring'],
	p: ['processes', 'to the list of processes'], b: ['history', 'back in time'], f: ['filter', 'filter processes'],
	w: ['thread', 'time line of the thread, or of all'],
	1: ['tab graph', 'picture'], 2: ['tab functions', 'functions'], 3: ['tab callers', 'callers and callees'],
	4: ['tab tree', 'tree'], '?': ['help', 'these keys'], Escape: ['reset', 'the whole profile'],
};
function act(what) {
	if (DOES[what])
		DOES[what]();
	else if (what === 'search' || what === 'filter')
		get(`[name=${what}]`).focus();
	else if (what.startsWith('tab '))
		openTab(what.slice(4));
	else
		actOnProfile(what);
}

document.addEventListener('keydown', (event) => {
	const {key, target} = event;

	if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || target.closest('input:not([type=checkbox], [type=radio]), select, textarea, dialog'))
		return;
	if (key.startsWith('Arrow') && target.closest('.graph')) {
		move(key, target);
	} else if (key === 'Enter' && target.closest('.graph')) {
		act('zoom');
	} else if (KEYS[key]) {
		if (key !== 'Escape' || !closeMenu())
			act(KEYS[key][0]);
	} else {
		return;
	}
	event.preventDefault();
});
document.addEventListener('click', ({target}) => {
	const {main, do: what = main} = target.closest('button')?.dataset ?? {};

	if (what)
		act(what);
});
get('#keys').append(...Object.entries({...KEYS, 'arrows, Enter': ['', 'move; zoom, or take the next 10 s']}).map(([key, [, words]]) =>
	make('p', {}, make('kbd', {}, key), ` ${words}`)));
get('.menu').append(...[...'zsyhoxcw'].map((key) => make('button', {role: 'menuitem', 'data-do': KEYS[key][0]}, `${KEYS[key][1]} `, make('kbd', {}, key))));

/* --- who may what --- */

/* Says what the caller may not, and which token would let them. */
function tellRole() {
	get('#role').textContent = `role ${host.role}`;
	get('#needs').textContent = may('admin') ? '' : `You may only ${NEEDS[host.role]}. A token of the role ${may('profile') ? 'admin' : 'profile'} does more.`;
	for (const [selector, role] of [['#processes', 'read'], ['#probes', 'read'], ['#history', 'read'], ['#scheduler', 'profile'], ['#probes form', 'admin']])
		get(selector).hidden = !may(role);
	get('#asking').hidden = host.role !== 'own' && !may('profile');
}

/* Returns the options of a probe: itself, its views, and what is held by age. */
function namesOf({name, views}) {
	return [[name], ...views.flatMap((one) => [['', ''], ...one.held ? AGES : []].map(([age, text]) =>
		[`${name}~${one.name}${age}`, `${name} ${one.name}${text}`]))];
}

async function meet() {
	await meetHost();
	get('#host').textContent = host.host;
	document.title = facts(host.host, 'stackprobe');
	view.probe ||= host.clock;
	probe.replaceChildren(...options([...host.probes.filter((one) => may('profile') || one.own).flatMap(namesOf), [`${host.clock}+${host.waits}`]]));
	probe.value = view.probe;
	if (!probe.value)
		probe.selectedIndex = 0;
	setCharts();
	tellRole();
	restartList();
	readProbes();
	loadTimeLine();
}

get('#token form').onsubmit = async ({submitter}) => {
	const text = tokenField.value.trim();

	tokenField.value = '';
	if (submitter.value === 'cancel')
		return;
	if (/[^\x21-\x7e]/.test(text))
		throw new Error('A token is of ASCII letters and signs.');
	useToken(text);
	await meet();
	if (!shown && !going)
		offer();
};

/* --- what is looked at --- */

/* Shows the range of a thread: of the frame's process, if it is known; again all threads where none is chosen. */
async function lookAtThread({profile, node}) {
	const nameOf = (kind) => profile.path(node).map((at) => profile.of(at)).find((frame) => frame.kind === kind)?.name ?? '';
	const thread = nameOf('thread'), of = nameOf('process'), [, pids] = /^\[(\d+)\]/.exec(of) ?? [];

	closeMenu();
	if (!thread && !view.thread)
		throw new Error('That frame is in no thread.');
	const {from, until} = view.source === 'range' ? view : profile.meta;

	return lookBack(view.probe, {from, until}, {...view, ...thread && pids && {pids, of, group: ''}, thread});
}

get('#one').onsubmit = (event) => {
	event.preventDefault();
	look('take', {pids: pid.value, of: pid.value});
};
probe.onchange = () => setTimeLineProbe(probe.value);
addEventListener('hashchange', () => { /* a link that was put into the address */
	readView();
	view.probe ||= host.clock;
	probe.value = view.probe;
	if (!hasBegun())
		offer();
	apply();
});
document.addEventListener('visibilitychange', () => {
	startList();
	readProbes();
	liveIfSeen();
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
	readColours();
	refresh();
	drawTimeLine();
});
/* Errors that nobody has caught are told; what was given up is none. */
addEventListener('unhandledrejection', (event) => {
	if (event.reason.name !== 'AbortError')
		say(event.reason.message, true);
	event.preventDefault();
});

const needsNothing = ['open', 'range'].includes(view.source) && view.probe;

if (needsNothing)
	offer();
meet().then(() => needsNothing || offer());
