/* The scheduler's charts, of the next seconds, as the daemon draws them; and the stacks of these seconds. */
import {getJson, getText, host} from './api.js';
import {alone} from './processes.js';
import {lookBack} from './taking.js';
import {get, make, named, options, say} from './words.js';

const SECONDS = 5, MARGIN_S = 15 /* windows of history are longer */, PROCESSES = 20;
const select = get('[name=chart]'), chart = get('pre'), links = get('.links');

export function setCharts() {
	select.replaceChildren(...options(host.sched.map((name) => [name])));
}

/* Returns the processes with the most slow waits: [{pid, comm}]. */
function slowest(events) {
	const found = {};

	for (const {pid, comm} of events)
		(found[pid] ??= {pid, comm, count: 0}).count++;
	return Object.values(found).sort((a, b) => b.count - a.count).slice(0, PROCESSES);
}

get('#scheduler').onsubmit = async (event) => {
	const name = select.value, from = Date.now() / 1000, path = (extension) => `/sched/${name}.${extension}?seconds=${SECONDS}`;

	event.preventDefault();
	say(`${name}: the next ${SECONDS} s…`);
	chart.textContent = '';
	links.replaceChildren();
	const [text, slow] = await Promise.all([
		alone(() => getText(path('txt'))),
		name.endsWith('slower') && alone(() => getJson(path('json'))).catch(() => null), /* there may be one too many */
	]);

	say('');
	chart.textContent = text;
	links.append('Stacks of this time: ', ...[{pid: '', comm: ''}, ...slowest(slow?.events ?? [])].flatMap(({pid: pids, comm: of}) =>
		[host.clock, host.waits].map((probe) => make('button', {'data-pids': pids, 'data-probe': probe,
			onclick: () => lookBack(probe, {from: from - MARGIN_S, until: from + SECONDS + MARGIN_S}, {pids: String(pids), of})}, probe, ...pids ? [' of ', named(`${of} (${pids})`)] : [' of all']))));
};
