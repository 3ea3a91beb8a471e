/* The scheduler's charts, of the next seconds, as the daemon draws them. */
import {getText} from './api.js';
import {make} from './words.js';

const SECONDS = 5;

export class Scheduler {
	/* `names` are those of /sched's probes. alone(work) makes room for a request; say(text) tells of errors. */
	constructor(section, {names, alone, say}) {
		const select = section.querySelector('select'), chart = section.querySelector('pre');

		select.replaceChildren(...names.map((value) => make('option', {value}, value)));
		section.querySelector('form').onsubmit = async (event) => {
			event.preventDefault();
			chart.textContent = `${select.value}: the next ${SECONDS} s…`;
			try {
				chart.textContent = await alone(() => getText(`/sched/${select.value}.txt?seconds=${SECONDS}`));
			} catch (error) {
				chart.textContent = '';
				say(error.message, true);
			}
		};
	}
}
