/* What is profiled all the time: the probes and processes of the last PUT of /flamegraph, and how to change them. */
import {getJson, host, may, put} from './api.js';
import {look} from './taking.js';
import {facts, get, make, named, number, redraw, say} from './words.js';

const EVERY_MS = 5000, CHOICES = 5;
const form = get('#probes form'), toggle = get('[data-act=state]');

let config = null, timer;

/* Says in words which processes snoopers choose. */
function choiceOf(snoopers = {}) {
	const texts = Object.entries(snoopers).flatMap(([key, values]) => values.map((value) => `${key} ${typeof value !== 'object' ? value
		: Object.entries(value).filter(([, text]) => text && typeof text === 'string').map((pair) => pair.join(' ')).join(', ')}`));

	return texts.slice(0, CHOICES).join('; ') + (texts.length > CHOICES ? ` and ${texts.length - CHOICES} more` : '');
}

/* Reads what is profiled, after a while, and again each 5 s while the tab is seen. */
export function readProbes(ms = 0) {
	clearTimeout(timer);
	if (!document.hidden && may('read'))
		timer = setTimeout(read, ms);
}

async function read() {
	try {
		config = await getJson('/flamegraph');
		redraw(draw);
	} catch (error) {
		get('.chosen').textContent = error.message;
	}
	readProbes(EVERY_MS);
}

function draw() {
	const wanted = config.cmd?.probe ?? [], states = config.status?.probes ?? {}, chosen = choiceOf(config.snoopers);
	const names = new Set([...host.probes.map(({name}) => name), ...Object.keys(states)]);

	get('#probes tbody').replaceChildren(...[...names].map((name) => rowOf(name, wanted.includes(name), states[name])));
	get('.chosen').replaceChildren(chosen ? 'Processes: ' : 'No processes are chosen.', named(chosen));
	toggle.textContent = config.state === 'running' ? 'Stop' : 'Start';
	toggle.disabled = !may('admin') || !wanted.length;
}

function rowOf(name, isWanted, {state, reason, samples, lost, truncated} = {}) {
	const known = host.probes.find((probe) => probe.name === name), told = facts(state ?? (isWanted && 'stopped'), reason,
		samples && `${number(samples)} samples`, ...Object.entries({...lost, ...truncated}).map(([cause, count]) => count && `${cause} ${number(count)}`));
	const box = make('input', {type: 'checkbox', checked: isWanted, disabled: !may('admin') || !known,
		ariaLabel: name, 'data-probe': name, 'data-act': 'probe', onchange: () => change(name, box.checked)});
	const cells = [[make('label', {}, box, ' ', named(name))], [known?.title ?? ''], [told],
		state === 'running' ? [make('button', {'data-probe': name, 'data-act': 'open', onclick: () => look('open', {pids: '', of: ''}, name)}, 'show')] : []];

	return make('tr', {}, ...cells.map((cell) => make('td', {className: 'text'}, ...cell)));
}

/* Begins or ends a probe; one has to be in the list. */
function change(name, isOn) {
	const others = (config?.cmd?.probe ?? []).filter((other) => other !== name);

	putBody(isOn ? {cmd: {probe: [...others, name]}, state: 'running'} : others.length ? {cmd: {probe: others}} : {state: 'stopped'});
}

/* PUTs; until it is known what came of it nothing else can be changed, as a list of probes is put as a whole. */
async function putBody(body) {
	clearTimeout(timer);
	for (const element of document.querySelectorAll('#probes :is(input, button)'))
		element.disabled = true;
	try {
		const answer = await put('/flamegraph', body);

		say([answer.message, ...answer.warnings ?? []].join('. '));
	} finally {
		for (const element of form.elements)
			element.disabled = false;
		read();
	}
}

toggle.onclick = () => putBody({state: config?.state === 'running' ? 'stopped' : 'running'});
/* Watches the processes with that name, a regular expression, in the place of those of before. */
form.onsubmit = (event) => {
	const probe = config?.cmd?.probe?.length ? config.cmd.probe : [host.clock];

	event.preventDefault();
	putBody({cmd: {probe}, snoopers: {proc_name: [{comm: get('[name=comm]').value}]}, state: 'running'});
};
