/* The profile that is shown: its picture, its tables, what is done to it. */
import {applySteps, sandwich} from './builder.js';
import {folded, pprof, speedscope, stackText, svg} from './exports.js';
import {matches, next, search, tellMatches} from './finder.js';
import {Graph} from './graph.js';
import {chosenInTree, showFunctions, showTree} from './tables.js';
import {keep, stepOf, view} from './view.js';
import {amount, clock, clocks, error, facts, get, goneWords, make, named, number, percent, say, visible} from './words.js';

const TABS = {
	graph: ['Picture', drawGraph], functions: ['Functions', () => showFunctions(shown, matches)],
	callers: ['Callers and callees', drawFunction], tree: ['Tree', () => showTree(shown, zoomed, isUpdate)],
};
const EXPORTS = {
	svg: () => svg(shown, {zoomed, icicle: view.icicle,
		heading: `${get('#profile h2').textContent}, ${shown.meta.host}, ${clock(shown.meta.from)}`}),
	folded: () => folded(shown), 'pb.gz': () => pprof(shown), 'speedscope.json': () => speedscope(shown),
};
const section = get('#profile'), menu = get('.menu'), line = get('.line'), tabs = get('.tabs'), ways = get('[name=colour]');
const choose = {onHover: tell, onMenu: openMenu, onZoom: (node, {profile}) => openFunction(profile.functionOf(node))};

export const graph = new Graph(get('#graph'), 'Flame graph; the tree has the same as text',
	{...choose, onZoom: (node) => zoom(shown.names(node), node)});
const callers = new Graph(get('#callers'), 'Callers of the function', choose);
const callees = new Graph(get('#callees'), 'Callees of the function', choose);
let whole = null, isUpdate = false, drawnSteps, target = null;

export let shown = null, zoomed = 0;

callees.icicle = callers.isInverted = true;
tabs.append(...Object.entries(TABS).map(([tab, [title]]) => make('label', {'data-tab': tab}, make('input', {type: 'radio', name: 'tab', value: tab}), ` ${title}`)));
get('.export').append(...Object.keys(EXPORTS).map((name) => make('button', {'data-export': name, onclick: () => save(name)}, name)));

tabs.onchange = (event) => openTab(event.target.value);
ways.onchange = () => {
	view.colour = ways.value;
	refresh();
};
document.addEventListener('pointerdown', (event) => {
	if (!menu.contains(event.target))
		closeMenu();
});

/* --- what is shown --- */

/* Shows another profile; the view stays: zoom, cursor, search and steps are kept by names. */
export function show(profile) {
	whole = profile;
	section.hidden = false;
	isUpdate = true;
	apply();
	isUpdate = false;
}

/* Shows the profile again, with the steps of the view. */
export function apply() {
	if (!whole)
		return;
	shown = applySteps(whole, view.steps.map(stepOf));
	zoomed = shown.follow(view.zoom);
	search(view.q);
	refresh();
}

export function refresh() {
	ways.value = view.colour;
	if (!shown)
		return;
	drawFacts();
	drawSteps();
	openTab(view.tab);
}

function drawFacts() {
	const {meta, weight, wide, count} = shown, {from, until, period_ns} = meta, seconds = meta.seconds ?? meta.covered ?? until - from;

	get('#profile h2').replaceChildren(meta.title, ...(meta.of ? [' of ', named(meta.of)] : []));
	get('.facts').textContent = facts(
		amount(weight, meta.unit),
		until > from && clocks(meta),
		period_ns && seconds > 0 && `${number(weight * period_ns / 1e9 / seconds)} CPUs on average`,
		meta.lost && `${number(meta.lost)} samples lost`,
		meta.truncated && `${percent(meta.truncated, whole.weight)} in stacks that don't reach their root`,
		meta.left_out && `${number(meta.left_out)} events left out to keep the cost low`,
		wide[0] > weight && `${amount(wide[0] - weight, meta.unit)} before in stacks that aren't here`,
		`${number(count - 1)} frames`,
		!weight && 'nothing was seen in that time',
	);
}

function drawSteps() {
	if (view.steps === drawnSteps)
		return; /* a button keeps the focus */
	drawnSteps = view.steps;
	get('.steps').replaceChildren(...view.steps.map(stepOf).map(({op, label}, i) => make('button', {onclick: () => dropStep(i)},
		`${op === 'recursion' ? 'direct recursion as one' : op} `, label ? named(label.replace(/^;/, '')) : '', ' ×')));
}

export function openTab(tab) {
	view.tab = Object.hasOwn(TABS, tab) ? tab : 'graph';
	get(`[name=tab][value=${view.tab}]`).checked = true;
	for (const element of section.querySelectorAll('[data-panel]'))
		element.hidden = element.dataset.panel !== view.tab;
	keep();
	if (shown)
		TABS[view.tab][1]();
}

function drawGraph() {
	graph.icicle = Boolean(view.icicle);
	graph.show(shown, zoomed, matches);
	tell(graph);
}

function drawFunction() {
	const table = shown.table(), f = shown.frames.find(view.function), chosen = f >= 0 ? f : table[0]?.function;
	const element = get('#function-name');

	for (const {element: half} of [callers, callees])
		half.hidden = chosen === undefined;
	if (chosen === undefined) {
		element.textContent = 'No function has any weight here.';
		return;
	}
	const parts = sandwich(shown, chosen), {total = 0, self = 0} = table.find((row) => row.function === chosen) ?? {};

	element.replaceChildren(named(shown.frames.functions.labels[chosen]), ` · total ${percent(total, shown.weight)}, self ${
		percent(self, shown.weight)} · ${amount(total, shown.meta.unit)}`);
	callers.show(parts.callers, 1, matches);
	callees.show(parts.callees, 1, matches);
}

/* --- a node --- */

/* Zooms to the node with that path of names; of several with the same path to `node`. */
export function zoom(names, node = shown.follow(names)) {
	view.zoom = names;
	zoomed = node;
	openTab(view.tab === 'tree' ? 'tree' : 'graph');
	tellMatches();
}

export function openFunction(f) {
	if (f < 0)
		return;
	view.function = shown.frames.labelOf(f);
	openTab('callers');
}

export function openLabel(label) {
	const f = shown?.frames.find(label) ?? -1;

	if (f < 0)
		say('It is not in this range any more.');
	openFunction(f);
}

/* Says what the frame under the mouse or at the cursor is, in the line below the picture; `isAloud`: a screen reader says it, too. */
export function tell({profile, hovered, node: about}, isAloud = false) {
	const node = hovered < 0 ? about : hovered;

	line.ariaLive = isAloud ? 'polite' : 'off';
	if (!profile)
		return;
	const {meta, weight, frames} = profile, total = profile.total[node], self = profile.self[node];
	const {kind, file, line: at, module} = profile.of(node), gone = goneWords(profile, node);
	const change = node && !gone ? frames.changeOf(profile.frame[node]) : 0;
	const words = facts(gone || facts(`${percent(total, weight)}${error(total, weight, meta)}`, amount(total, meta.unit)),
		self && `self ${percent(self, weight)}`, kind, at ? `${file}:${at}` : file, module,
		change && (change > 0 ? 'more than before' : 'less than before'));

	line.replaceChildren(named(profile.label(node)), ` · ${visible(words)}`);
}

function openMenu(of, node, {clientX, clientY}) {
	target = {...of, node};
	menu.hidden = false;
	Object.assign(menu.style, {left: `${Math.min(clientX, innerWidth - menu.offsetWidth)}px`, top: `${Math.min(clientY, innerHeight - menu.offsetHeight)}px`});
	menu.firstChild.focus();
}

/* Returns whether there was one. */
export function closeMenu() {
	const wasOpen = Boolean(target);

	if (menu.contains(document.activeElement))
		target.top.focus({preventScroll: true});
	menu.hidden = true;
	target = null;
	return wasOpen;
}

/* --- what is done --- */

/* Returns {profile, node} that a key or a button is about: of the menu, or of what is seen. */
export function chosen() {
	const focused = document.activeElement;

	if (target)
		return target;
	if (view.tab === 'tree')
		return chosenInTree();
	if (view.tab === 'functions') {
		const f = Number(focused.dataset.function ?? -2);

		return {profile: shown, node: shown.outermost((one) => one === f)[0] ?? 0};
	}
	const one = view.tab === 'graph' ? graph : [callers, callees].find(({hovered, top}) => hovered > 0 || top === focused) ?? callees;

	return {...one, profile: one.profile ?? shown, node: one.node};
}

const ACTS = {
	recursion: () => addStep('recursion', ''), undo: () => dropStep(view.steps.length - 1),
	hide: step, only: step, without: step, collapse: step,
	callers: ({f}) => openFunction(f), copy: (about) => copy(stackText(about)), reset: () => zoom([]), turn,
	next: () => next(1), previous: () => next(-1),
	zoom: ({profile, node, f}) => view.tab === 'callers' ? openFunction(f) : zoom(profile.names(node), profile === shown ? node : undefined),
};

export function act(what) {
	if (!shown || !ACTS[what])
		return;
	const about = chosen();

	closeMenu();
	ACTS[what]({...about, f: about.profile.functionOf(about.node)}, what);
}

function step({profile, f}, op) {
	if (f >= 0)
		addStep(op, profile.frames.labelOf(f));
}

function turn() {
	view.icicle = view.icicle ? '' : '1';
	openTab('graph');
}

function addStep(op, label) {
	view.steps = [...new Set([...view.steps, `${op}:${label}`])];
	apply();
}

function dropStep(i) {
	view.steps = view.steps.filter((_, at) => at !== i);
	apply();
}

/* Copies a text; pages that came without TLS from another host have no clipboard, so by a selection then. */
async function copy(text) {
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		const area = make('textarea', {value: text, className: 'aside'});

		document.body.append(area);
		area.select();
		document.execCommand('copy');
		area.remove();
	}
	say('The stack is in the clipboard.');
}

async function save(name) {
	const {of, host, probe} = shown.meta, url = URL.createObjectURL(new Blob(await EXPORTS[name]()));
	const file = [probe, of || host || 'profile'].map((text) => text.replace(/[^\w.-]+/g, '_').slice(0, 64)).join('-');

	make('a', {href: url, download: `${file}.${name}`}).click();
	setTimeout(() => URL.revokeObjectURL(url), 10000);
	say(`${name} is saved${name === 'pb.gz' ? ', without addresses, which a page does not know' : ''}.`);
}

/* Moves the cursor of a picture: to the caller, a callee, a neighbour. */
export function move(key, element) {
	const of = [graph, callers, callees].find((one) => one.element.contains(element)), {profile, node: at, icicle} = of;

	if (!profile)
		return;
	const siblings = at ? profile.children(profile.parent[at]) : [], beside = siblings.indexOf(at);
	const up = profile.parent[at], down = profile.children(at).sort((a, b) => profile.wide[b] - profile.wide[a])[0];
	const to = {ArrowUp: icicle ? up : down, ArrowDown: icicle ? down : up,
		ArrowLeft: siblings[beside - 1], ArrowRight: siblings[beside + 1]}[key] ?? -1;

	if (to >= 0) {
		of.moveTo(to);
		tell(of, true);
	}
}
