/* What is profiled all the time: the probes and processes of the last PUT of /flamegraph, and how to change them. */
import {getJson, put} from './api.js';
import {make, named, number} from './words.js';

const EVERY_MS = 5000;

/* Says in words which processes snoopers choose. */
function choiceOf(snoopers) {
	const texts = [];

	for (const [key, values] of Object.entries(snoopers || {})) {
		for (const value of values) {
			const words = typeof value === 'object' ? Object.entries(value).filter(([, v]) => v && typeof v === 'string')
				.map(([k, v]) => `${k} ${v}`).join(', ') : value;

			texts.push(`${key} ${words}`);
		}
	}
	return texts.length > 5 ? `${texts.slice(0, 5).join('; ')} and ${texts.length - 5} more` : texts.join('; ');
}

export class Probes {
	/* `host`, set by the caller, is host.json. may(role) tells what the caller may; onOpen(probe) shows what a probe has so far. */
	constructor(section, {may, onOpen, say}) {
		Object.assign(this, {section, may, onOpen, say, config: null});
		section.addEventListener('click', (event) => this.click(event));
		section.addEventListener('submit', (event) => {
			event.preventDefault();
			this.watch(section.querySelector('[name=comm]').value);
		});
		document.addEventListener('visibilitychange', () => this.later(0));
		this.later(0);
	}

	later(ms) {
		clearTimeout(this.timer);
		if (!document.hidden && this.may('read'))
			this.timer = setTimeout(() => this.read(), ms);
	}

	async read() {
		try {
			this.config = await getJson('/flamegraph');
			this.draw();
			if (this.failed)
				this.say('');
			this.failed = false;
		} catch (error) {
			this.failed = true;
			this.say(`What is profiled: ${error.message}`, true);
		}
		this.later(EVERY_MS);
	}

	draw() {
		const {config, host} = this, wanted = config.cmd?.probe || [], states = config.status?.probes || {};
		const focus = document.activeElement?.dataset?.probe, act = document.activeElement?.dataset?.act;
		const names = [...new Set([...host.probes.map((probe) => probe.name), ...Object.keys(states)])];
		const rows = names.map((name) => this.row(name, wanted.includes(name), states[name]));
		const chosen = choiceOf(config.snoopers), running = config.state === 'running';

		this.section.querySelector('tbody').replaceChildren(...rows);
		this.section.querySelector('.chosen').replaceChildren(chosen ? 'Processes: ' : 'No processes are chosen.', named(chosen));
		const toggle = this.section.querySelector('[data-act=state]');

		toggle.textContent = running ? 'Stop' : 'Start';
		toggle.disabled = !this.may('admin') || !wanted.length;
		if (focus)
			this.section.querySelector(`[data-probe="${CSS.escape(focus)}"][data-act="${act}"]`)?.focus({preventScroll: true});
	}

	row(name, isWanted, state) {
		const known = this.host.probes.find((probe) => probe.name === name), text = state?.state || (isWanted ? 'stopped' : '');
		const box = make('input', {type: 'checkbox', checked: isWanted, disabled: !this.may('admin') || !known,
			'aria-label': name, 'data-probe': name, 'data-act': 'probe'});
		const facts = [text, state?.reason];

		if (state?.samples)
			facts.push(`${number(state.samples)} samples`);
		for (const [cause, count] of Object.entries({...state?.lost, ...state?.truncated})) {
			if (count)
				facts.push(`${cause} ${number(count)}`);
		}
		return make('tr', {}, make('td', {}, make('label', {}, box, ' ', named(name))),
			make('td', {className: 'text'}, known?.title || ''), make('td', {className: 'text'},
				facts.filter(Boolean).join(' · ')),
			make('td', {}, state?.state === 'running' ? make('button', {type: 'button', 'data-probe': name, 'data-act': 'open'},
				'show') : ''));
	}

	click(event) {
		const {probe, act} = event.target.dataset;

		if (act === 'open')
			this.onOpen(probe);
		else if (act === 'state')
			this.change({state: this.config?.state === 'running' ? 'stopped' : 'running'});
		else if (act === 'probe')
			this.toggle(probe, event.target.checked);
	}

	toggle(probe, isOn) {
		const others = (this.config?.cmd?.probe || []).filter((name) => name !== probe);

		if (!isOn && !others.length)
			return this.change({state: 'stopped'}); /* one has to be in the list */
		return this.change({cmd: {probe: isOn ? [...others, probe] : others}, ...(isOn && {state: 'running'})});
	}

	/* Watches the processes with that name, a regular expression, in the place of those of before. */
	watch(comm) {
		const probe = this.config?.cmd?.probe?.length ? this.config.cmd.probe : [this.host.clock];

		return this.change({cmd: {probe}, snoopers: {proc_name: [{comm}]}, state: 'running'});
	}

	/* PUTs; until it is known what came of it nothing else can be changed, as a list of probes is put as a whole. */
	async change(body) {
		clearTimeout(this.timer);
		this.section.querySelectorAll('input, button').forEach((element) => { element.disabled = true; });
		try {
			const answer = await put('/flamegraph', body);

			this.say([answer.message, ...(answer.warnings || [])].join('. '));
		} catch (error) {
			this.say(error.message, true);
		}
		this.section.querySelectorAll('form *').forEach((element) => { element.disabled = false; });
		this.read();
	}
}
