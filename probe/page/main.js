/* The page: what belongs to which part, keys, and the address. */
import {getJson, token} from './api.js';
import {Panel} from './panel.js';
import {Probes} from './probes.js';
import {Processes} from './processes.js';
import {Scheduler} from './scheduler.js';
import {Taking} from './taking.js';
import {TimeLine} from './timeline.js';
import {isolate, make} from './words.js';
import {readView, writeView} from './view.js';

const ROLES = ['metrics', 'own', 'read', 'profile', 'admin'];
const AGES = [['~60', ', ≥ 1 min'], ['~600', ', ≥ 10 min'], ['~3600', ', ≥ 1 h']];
const get = (selector) => document.querySelector(selector);
const view = readView(location.hash), BEGAN = 'stackprobe-began';
let host = null, panel, probes, processes, taking, timeline, resting = 0;

const may = (role) => host && ROLES.indexOf(host.role) >= ROLES.indexOf(role);

/* Says something to the user, in one place that screen readers read out. */
function say(text, isError = false) {
	const line = get('#status');

	line.textContent = text;
	line.classList.toggle('error', isError);
}

function keep() {
	const fragment = writeView(view);

	if (fragment !== (location.hash || '#'))
		history.replaceState(null, '', fragment === '#' ? location.pathname : fragment);
}

/* Lets the list rest while other requests are under way: who is no administrator has two at a time. */
async function alone(work) {
	if (may('admin'))
		return work();
	if (!resting++)
		processes?.stop();
	try {
		return await work();
	} finally {
		if (!--resting)
			processes?.start();
	}
}

/* Returns the processes of a row that stands for several: the 64 with the most CPU time in a second. */
async function pidsOf(row) {
	if (row.pid)
		return String(row.pid);
	const {rows} = await alone(() => getJson('/proc/all.json?seconds=1&group_by=pid'));

	return rows.filter((one) => one.pid && !one.kernel && !one.ended && processes.keys.every((key) => one[key] === row[key]))
		.slice(0, 64).map((one) => one.pid).join(',');
}

const options = (of) => of.map(([value, text = value]) => make('option', {value}, text));

/* Returns the options of a probe: itself, its views, and what is held by age. */
function namesOf({name, views}) {
	return options([[name], ...views.flatMap((view) => [['', ''], ...view.held ? AGES : []].map(([age, text]) =>
		[`${name}~${view.name}${age}`, `${name} ${view.name}${text}`]))]);
}

/* What a view begins. */
const beginning = () => [view.source, view.probe, view.pids, view.seconds, view.from, view.until, view.against,
	view.rival, view.group].join();

/* Looks at some processes ({pids, of, group}): of what was done to the profile before, search and colours stay. */
function look(source, {pids, of, group = ''}, probe = get('[name=probe]').value, range = {from: '', until: '', against: '', rival: ''}) {
	if (['live', 'range'].includes(source) && probe.includes('+')) {
		say('That is for one probe at a time.', true);
		return;
	}
	if (source !== 'range' && probe.split('~')[2]) /* what is so old isn't of the next seconds */
		source = 'open';
	if (source === 'range' && pids.includes(',') && !group) {
		say('A range is of one process, or of all.', true);
		return;
	}
	Object.assign(view, {source, probe, pids, of, group, seconds: '10', ...range}, source !== 'range' && {zoom: [], steps: [], function: ''});
	get('[name=pid]').value = /^\d+$/.test(pids) ? pids : '';
	if (view.tab === 'tree')
		view.tab = 'graph';
	keep();
	begin();
}

/* Shows a range of history. */
function lookBack(probe, range, who = view) {
	look('range', who, probe, range);
}

function begin() {
	get('#offer').hidden = true;
	sessionStorage.setItem(BEGAN, beginning());
	say('');
	if (view.source === 'open')
		taking.open(view);
	else if (view.source === 'range')
		taking.range({...view});
	else if (view.source === 'live')
		taking.follow({...view});
	else if (view.probe.includes('+'))
		alone(() => taking.take({...view}));
	else
		taking.take({...view});
	timeline?.follow();
}

/* A link may come from anybody: it shows what there is, but what it would begin waits for a click, unless this tab
 * has begun the same before. */
function offer() {
	get('#offer').hidden = true;
	if (!view.source)
		return;
	if (['open', 'range'].includes(view.source) || sessionStorage.getItem(BEGAN) === beginning()) {
		begin();
		return;
	}
	get('#offer span').textContent = isolate(`This link profiles ${view.of} (pid ${view.pids || 'of the chosen processes'}) with `
		+ `${view.probe}, ${view.source === 'live' ? 'live' : `${view.seconds} s`}. `);
	get('#offer').hidden = false;
}

async function takeRow(row, source = 'take') {
	try {
		const pids = await pidsOf(row), name = row.comm || row.container || row.pod || 'processes';

		if (pids)
			look(source, {pids, of: row.pid ? `${name} (${row.pid})` : name, group: row.pid ? '' : processes.group.value});
		else
			say('None of its processes runs any more.', true);
	} catch (error) {
		say(error.message, true);
	}
}

/* The row that is focused, or the one that was last. */
function chosenRow() {
	return get('#processes tr[tabindex="0"]')?.row;
}

const DOES = {
	again: () => view.source && look('take', view),
	live: () => {
		const row = document.activeElement.closest('#processes tr') ? chosenRow() : null, pid = get('[name=pid]').value.trim();

		if (taking.live)
			taking.stop();
		else if (row)
			takeRow(row, 'live');
		else if (pid && pid !== view.pids)
			look('live', {pids: pid, of: pid});
		else if (view.source)
			look('live', view);
		else if (chosenRow())
			takeRow(chosenRow(), 'live');
	},
	begin, cancel: () => taking.stop(),
	history: () => {
		const section = get('#history');

		section.open = !section.open;
		section.querySelector(section.open ? 'canvas' : 'summary').focus();
	},
	help: () => get('#help').showModal(),
	token: () => get('#token').showModal(),
};

/* key: [selector of the button or name of what is done, words] */
const KEYS = {
	t: ['again', 'take the next 10 s again'], l: ['live', 'live: begin or end'], '/': ['search', 'search'],
	n: ['next', 'next match'], N: ['previous', 'match before'], z: ['zoom', 'zoom into the frame at the cursor'],
	0: ['reset', 'the whole profile'], h: ['hide', 'hide the function: its callees go to its callers'],
	o: ['only', 'only stacks with the function'], x: ['without', 'only stacks without the function'],
	c: ['collapse', 'what the function calls as one with it'], r: ['recursion', 'direct recursion as one frame'],
	u: ['undo', 'take the last step back'], y: ['copy', 'copy the stack'], s: ['callers', 'callers and callees'],
	i: ['turn', 'root at the top, or at the bottom'], k: ['colours', 'next way of colouring'],
	p: ['processes', 'to the list of processes'], b: ['history', 'back in time'], f: ['filter', 'filter processes'],
	1: ['tab graph', 'picture'], 2: ['tab functions', 'functions'], 3: ['tab callers', 'callers and callees'],
	4: ['tab tree', 'tree'], '?': ['help', 'these keys'],
};

function act(what) {
	const [verb, object] = what.split(' ');

	if (DOES[verb])
		DOES[verb]();
	else if (verb === 'tab')
		panel.openTab(object);
	else if (verb === 'search')
		get('[name=search]').focus();
	else if (verb === 'filter')
		get('#processes input').focus();
	else if (verb === 'processes')
		get('#processes tr[tabindex="0"]')?.focus();
	else if (verb === 'colours')
		nextColour();
	else
		panel.act(verb);
}

function nextColour() {
	const select = get('[name=colour]');

	select.selectedIndex = (select.selectedIndex + 1) % select.options.length;
	select.dispatchEvent(new Event('change'));
}

function onKey(event) {
	const {key, target} = event, isField = target.closest('input:not([type=checkbox]), select, textarea, dialog');

	if (event.ctrlKey || event.altKey || event.metaKey || isField)
		return;
	if (key.startsWith('Arrow') && target.closest('.graph')) {
		panel.move(key, target);
	} else if (key.startsWith('Arrow') && target.closest('[role=tablist]')) {
		const tabs = Array.from(target.closest('[role=tablist]').children), step = key === 'ArrowRight' ? 1 : -1;
		const next = tabs[(tabs.indexOf(target) + step + tabs.length) % tabs.length];

		panel.openTab(next.dataset.tab);
		next.focus();
	} else if (key === 'Enter' && target.closest('.graph')) {
		panel.act('zoom');
	} else if (key === 'Escape' && !panel.parts.menu.hidden) {
		panel.closeMenu();
	} else if (key === 'Escape') {
		panel.act('reset');
	} else if (KEYS[key]) {
		act(KEYS[key][0]);
	} else {
		return;
	}
	event.preventDefault();
}

function listKeys() {
	get('#keys').append(...Object.entries(KEYS).map(([key, [, words]]) => make('div', {}, make('dt', {}, make('kbd', {}, key)),
		make('dd', {}, words))), make('div', {}, make('dt', {}, make('kbd', {}, 'arrows'), ' ', make('kbd', {}, 'Enter')),
	make('dd', {}, 'in a picture: move, zoom; in the list: move, the next 10 s')),
	make('div', {}, make('dt', {}, make('kbd', {}, 'Escape')), make('dd', {}, 'the whole profile')));
}

/* Says what the caller may not, and which token would let them. */
function tellRole() {
	const needs = may('admin') ? '' : may('profile') ? 'You may profile, but not start and stop what runs all the time.'
		: may('read') ? 'You may look at what was collected, but begin nothing.'
			: host.role === 'own' ? 'You may profile your own processes: give a pid.' : 'You may not see processes and profiles.';

	get('#role').textContent = `role ${host.role}`;
	get('#needs').textContent = needs && `${needs} A token of the role ${may('profile') ? 'admin' : 'profile'} does more.`;
	document.body.classList.toggle('may-profile', may('profile'));
	document.body.classList.toggle('may-own', host.role === 'own' || may('profile'));
	document.body.classList.toggle('may-admin', may('admin'));
	get('#processes').hidden = !may('read');
	get('#probes').hidden = !may('read');
	get('#history').hidden = !may('read');
	timeline?.load();
}

async function takeToken(event) {
	const text = get('[name=token]').value.trim();

	get('[name=token]').value = '';
	if (event.submitter.value === 'cancel')
		return;
	if (/[^\x21-\x7e]/.test(text))
		throw new Error('A token is of ASCII letters and signs.');
	token.set(text);
	await meet();
	processes.start();
	probes.later(0);
	if (!panel.shown && !taking.going)
		offer();
}

/* Asks who we are, and what there is. A token that isn't known is forgotten. */
async function meet() {
	try {
		host = await getJson('/ui/host.json');
	} catch (error) {
		if (error.status !== 401)
			throw error;
		token.set('');
		host = await getJson('/ui/host.json');
		say(error.message, true);
	}
	get('#host').textContent = host.host;
	document.title = [host.host, 'stackprobe'].filter(Boolean).join(' – ');
	const select = get('[name=probe]'), known = host.probes.filter((probe) => may('profile') || probe.own);

	view.probe ||= host.clock;

	select.replaceChildren(...known.flatMap(namesOf), ...options([[`${host.clock}+${host.waits}`]]));
	select.value = view.probe;
	if (!select.value)
		select.selectedIndex = 0;
	new Scheduler(get('#scheduler'), {names: host.sched, probes: [host.clock, host.waits], say, alone, onStacks: lookBack});
	processes ??= new Processes(get('#processes'), {onTake: takeRow, say, may});
	probes ??= new Probes(get('#probes'), {may, say, onOpen: (probe) => look('open', {pids: '', of: ''}, probe)});
	probes.host = host;
	tellRole();
}

async function start() {
	listKeys();
	panel = new Panel(get('#profile'), {view, changed: keep, say});
	taking = new Taking({
		show: (profile) => panel.show(profile), say, compared: (told) => timeline.list(told),
		busy: (text) => {
			get('#busy').textContent = text;
			get('#cancel').hidden = !text;
		},
	});
	taking.meta = (name) => {
		const [first, second] = name.split('~'), found = host.probes.find((one) => one.name === first);
		const probe = found?.views.find((one) => one.name === second) ?? found ?? {title: name, unit: 'samples'};

		return {probe: name, title: probe.title, unit: probe.unit, period_ns: probe.period_ns, host: host.host};
	};
	document.addEventListener('keydown', onKey);
	document.addEventListener('click', (event) => {
		const what = event.target.closest('[data-main]')?.dataset.main;

		if (what)
			act(what);
	});
	get('#token form').addEventListener('submit', (event) => takeToken(event).catch((error) => say(error.message, true)));
	get('#one').addEventListener('submit', (event) => {
		event.preventDefault();
		look('take', {pids: get('[name=pid]').value, of: get('[name=pid]').value});
	});
	addEventListener('hashchange', () => { /* a link that was put into the address */
		Object.assign(view, readView(location.hash));
		view.probe ||= host.clock;
		get('[name=probe]').value = view.probe;
		if (sessionStorage.getItem(BEGAN) !== beginning())
			offer();
		panel.apply();
	});
	timeline = new TimeLine(get('#history'), {view, say, alone, onRange: lookBack,
		onFunction: (label) => {
			const f = panel.shown?.frames.find(label) ?? -1;

			if (f < 0)
				say('It is not in this range any more.');
			panel.openFunction(f);
		}});
	get('[name=probe]').addEventListener('change', (event) => {
		timeline.probe = event.target.value;
		timeline.load();
	});
	const isOpen = ['open', 'range'].includes(view.source) && view.probe;

	if (isOpen)
		offer(); /* needs nothing of the rest */
	await meet();
	if (!isOpen)
		offer();
}

start().catch((error) => say(error.message, true));
