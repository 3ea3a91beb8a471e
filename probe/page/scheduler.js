/* The scheduler's charts, of the next seconds, as the daemon draws them; and the stacks of these seconds. */
import {getJson, getText} from './api.js';
import {make, named} from './words.js';

const SECONDS = 5, MARGIN_S = 15; /* windows of history are longer */

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
					isSlow && alone(() => getJson(`/sched/${name}.json?seconds=${SECONDS}`)),
				]);

				range = {from: from - MARGIN_S, until: from + SECONDS + MARGIN_S};
				chart.textContent = text;
				const who = new Map((slow?.events ?? []).map(({pid, comm}) => [String(pid), comm]));

				links.append('Stacks of this time: ', ...[['', ''], ...who].slice(0, 20).flatMap(([pids, of]) => probes.map((probe) =>
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
