/* Colours of frames: those of the pictures, read from the style sheet, and others by what the user wants to see. */
import {KINDS} from './profile.js';
import {view} from './view.js';

const SHADES = 6, LETTERS = 'cccppmnkjity'; /* of KINDS */

const shades = {};
export const inks = {}; /* of what is no frame */
let known = {};

function hash(text) {
	let h = 2166136261;

	for (let i = 0; i < text.length; i++)
		h = Math.imul(h ^ text.charCodeAt(i), 16777619);
	return h >>> 0;
}

/* Reads the shades of the scheme that is in force. */
export function readColours() {
	const probe = document.createElementNS('http://www.w3.org/2000/svg', 'path'), style = getComputedStyle(probe);

	known = {};
	document.body.append(probe);
	for (const letter of new Set(`${LETTERS}ugs`)) {
		shades[letter] = Array.from({length: 'gs'.includes(letter) ? 10 : SHADES}, (_, i) => {
			probe.setAttribute('class', letter + i);
			return style.stroke;
		});
	}
	for (const name of ['bad', 'text', 'ground', 'hot', 'ink', 'link', 'match', 'narrow']) {
		probe.style.color = `var(--${name})`;
		inks[name] = style.color;
	}
	probe.remove();
}

const shade = (letter, text) => shades[letter][hash(text) % SHADES];
const step = (letter, part) => shades[letter][Math.min(9, Math.floor(10 * part))];

export function colourOf(profile, node) {
	const {frames, self} = profile, frame = profile.frame[node];

	if (!node)
		return shades.c[0];
	if (view.colour === 'self')
		return self[node] ? step('g', self[node] / profile.mostSelf) : shades.u[0];
	if (view.colour === 'container') {
		const head = profile.label(profile.path(node)[0]);

		return shade('nkjityi'[hash(head) % 7], head);
	}
	if (known.profile !== profile || known.way !== view.colour)
		known = {profile, way: view.colour, colours: []};
	return known.colours[frame] ??= ofFrame(frames, frame);
}

function ofFrame(frames, frame) {
	const {kind, module, name} = frames.all[frame];

	if (view.colour === 'change') { /* what is within noise is grey */
		const part = frames.changeOf(frame);

		return part ? step(part > 0 ? 'g' : 's', Math.abs(part)) : shades.u[0];
	}
	if (view.colour === 'module' && !frames.isHead(frame))
		return module ? shade('njity'[hash(module) % 5], module) : shade(kind === 'kernel' ? 'k' : 'u', '');
	return shade(LETTERS[KINDS.indexOf(kind)], name);
}

readColours();
