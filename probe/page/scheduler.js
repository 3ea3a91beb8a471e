/* The scheduler's charts, of the next seconds, as the daemon draws them; and the stacks of these seconds. */
import {getJson, getText} from './api.js';
import {make, named} from './words.js';

const SECONDS = 5, MARGIN_S = 15 /* windows of history are longer */, PROCESSES = 20;

/* Returns the processes with the most slow waits: their numbers and names. */
function slowest(events) {
	const counts = new Map(), names = new Map(events.map(({pid, comm}) => [String(pid), comm]));

	for (const {pid} of events)
		counts.set(String(pid), (counts.get(String(pid)) ?? 0) + 1);
	return [...names].sort(([a], [b]) => counts.get(b) - counts.get(a)).slice(0, PROCESSES);
}

export class Scheduler {
	/* `names` are those of /sched's probes, `probes` those whose stacks tell of a chart. onStacks(probe, range, who) shows
	 * stacks; alone(work) makes room for a request; say(text) tells of errors. */
	constructor(section, {names, probes, alone, say, onStacks}) {
		const part = (name) => section.querySelector(name), select = part('select'), chart = part('pre'), links = part('.links');
		let range = null;

		select.replaceChildren(...names.map((value) => make('option', {value}, value)));
		part('form').onsubmit = async (event) => {
			const name = select.value, isSlow = name.endsWith('slower'), from = Date.now() / 1000;

			event.preventDefault();
			chart.textContent = `${name}: the next ${SECONDS} s…`;
			links.replaceChildren();
			try {
				const [text, slow] = await Promise.all([
					alone(() => getText(`/sched/${name}.txt?seconds=${SECONDS}`)),
					isSlow && alone(() => getJson(`/sched/${name}.json?seconds=${SECONDS}`)).catch(() => null), /* there may be one too many */
				]);

				range = {from: from - MARGIN_S, until: from + SECONDS + MARGIN_S};
				chart.textContent = text;
				links.append('Stacks of this time: ', ...[['', ''], ...slowest(slow?.events ?? [])].flatMap(([pids, of]) => probes.map((probe) =>
					make('button', {type: 'button', 'data-pids': pids, 'data-of': of, 'data-probe': probe}, probe,
						...pids ? [' of ', named(`${of} (${pids})`)] : [' of all']))));
			} catch (error) {
				chart.textContent = '';
				say(error.message, true);
			}
		};
		links.onclick = ({target}) => {
			const {probe, pids, of} = target.closest('button')?.dataset ?? {};

			if (probe)
				onStacks(probe, {...range, against: '', rival: ''}, {pids, of});
		};
	}
}
