/* Colours of frames: those of the pictures, read from the style sheet, and others by what the user wants to see. */
import {KINDS} from './profile.js';

const SHADES = 6, LETTERS = {
	root: 'c', pod: 'c', container: 'c', process: 'p', thread: 'p', marker: 'm', native: 'n', kernel: 'k', jit: 'j',
	inlined: 'i', interpreted: 't', python: 'y',
};
export const WAYS = {kind: 'kind of code', module: 'file with the code', container: 'container or process', self: 'own weight', change: 'change (of a range that is compared)'};

function hash(text) {
	let h = 2166136261;

	for (let i = 0; i < text.length; i++)
		h = Math.imul(h ^ text.charCodeAt(i), 16777619);
	return h >>> 0;
}

export class Colours {
	constructor(element) {
		this.element = element;
		this.way = 'kind';
		this.read();
	}

	/* Reads the shades of the scheme that is in force. */
	read() {
		const probe = document.createElementNS('http://www.w3.org/2000/svg', 'path'), style = getComputedStyle(this.element);

		this.known = null;
		this.shades = {};
		this.element.append(probe);
		for (const letter of new Set([...Object.values(LETTERS), 'u', 'g', 's'])) {
			this.shades[letter] = [];
			for (let i = 0; i < ('gs'.includes(letter) ? 10 : SHADES); i++) {
				probe.setAttribute('class', letter + i);
				this.shades[letter].push(getComputedStyle(probe).stroke);
			}
		}
		probe.remove();
		this.text = style.getPropertyValue('--frame-text');
		this.cursor = style.color;
		this.ground = style.backgroundColor;
		this.match = style.getPropertyValue('--match');
		this.hot = style.getPropertyValue('--hot');
		this.narrow = style.getPropertyValue('--narrow');
		this.font = `11px ${style.getPropertyValue('--mono')}`;
	}

	/* Returns the colour of a node of a profile. */
	of(profile, node) {
		const {frames} = profile, frame = profile.frame[node];

		if (!node)
			return this.shades.c[0];
		if (this.way === 'self')
			return profile.self[node] ? this.shades.g[Math.min(9, Math.floor(10 * profile.self[node] / profile.mostSelf))]
				: this.shades.u[0];
		if (this.way === 'container')
			return this.shade('nkjityi'[hash(this.head(profile, node)) % 7], this.head(profile, node));
		if (this.known?.frames !== frames || this.known.way !== this.way)
			this.known = {frames, way: this.way, colours: []};
		return this.known.colours[frame] ??= this.ofFrame(frames, frame);
	}

	ofFrame(frames, frame) {
		const kind = KINDS[frames.kinds[frame]], module = frames.modules[frame];

		if (this.way === 'change') { /* what is within noise is grey */
			const part = frames.changeOf(frame);

			return part ? this.shades[part > 0 ? 'g' : 's'][Math.min(9, Math.floor(10 * Math.abs(part)))] : this.shades.u[0];
		}
		if (this.way === 'module' && !frames.isHead(frame))
			return module ? this.shade('njity'[hash(module) % 5], module) : this.shade(kind === 'kernel' ? 'k' : 'u', '');
		return this.shade(LETTERS[kind], frames.names[frame]);
	}

	shade(letter, text) {
		return this.shades[letter][hash(text) % SHADES];
	}

	/* Returns the container or the process in which a node is. */
	head(profile, node) {
		const [first] = profile.path(node);

		return first ? profile.label(first) : '';
	}
}
