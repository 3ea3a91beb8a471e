/* Texts for people: numbers with their units, names that are hostile, elements. */
const CONTROL = /[\u0000-\u001f\u007f]/g, DOTS = '…';
const SCALES = {
	bytes: [1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']],
	us: [1000, ['us', 'ms', 's', 'ks', 'Ms']],
};

/* Shows control bytes as pictures (U+2400…). */
export function visible(name) {
	return name.replace(CONTROL, (c) => c === '\u007f' ? '\u2421' : String.fromCharCode(0x2400 + c.charCodeAt(0)));
}

/* Keeps letters that turn the direction of writing to this text. */
export function isolate(text) {
	return `\u2068${visible(text)}\u2069`;
}

/* Returns a name as folded text has it. */
export function foldedName(name) {
	return name.replace(CONTROL, ' ').replaceAll(';', ':');
}

export function number(value) {
	const [whole, fraction] = String(Math.round(100 * value) / 100).split('.'); /* the browser's own way takes 50 ms at first */

	return whole.replace(/\B(?=(\d{3})+$)/g, ',') + (fraction ? `.${fraction}` : '');
}

/* Returns a value with its unit: of bytes and times in a scale that can be read. */
export function amount(value, unit) {
	const scale = SCALES[unit];

	if (!scale)
		return `${number(value)} ${unit}`;
	const [base, names] = scale;
	let step = 0;

	for (; Math.abs(value) >= base && step < names.length - 1; step++)
		value /= base;
	return `${step ? value.toFixed(1) : number(value)} ${names[step]}`;
}

export function percent(part, whole) {
	return whole ? `${(100 * part / whole).toFixed(2)} %` : '–';
}

/*
 * Returns what a share is uncertain by, " ± 0.9": where each sample is drawn by itself, by the clock, the standard
 * deviation of a share of so many samples. (Not where the guard left some out: others stand for them.)
 */
export function error(part, whole, meta) {
	if (!meta.period_ns || !whole || meta.unit !== 'samples' || meta.left_out)
		return '';
	const share = part / whole;

	return ` ± ${(100 * Math.sqrt(share * (1 - share) / whole)).toFixed(2)}`;
}

export function clock(seconds) {
	const date = new Date(1000 * seconds), two = (value) => String(value).padStart(2, '0');

	return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} `
		+ [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':');
}

/* Returns as much of a text as has room, and dots for the rest; '': not even three letters. */
export function cutText(context, text, room) {
	const letter = context.letterWidth ??= context.measureText('m').width;

	if (text.length * letter <= room)
		return text;
	const fits = Math.floor(room / letter) - 1;

	return fits >= 2 ? Array.from(text.slice(0, 2 * fits)).slice(0, fits).join('') + DOTS : '';
}

/* Makes an element: properties, then children, which are elements or texts. Texts become text, never markup. */
export function make(name, properties = {}, ...children) {
	const element = document.createElement(name);

	for (const [key, value] of Object.entries(properties)) {
		if (key in element)
			element[key] = value;
		else
			element.setAttribute(key, value);
	}
	element.append(...children);
	return element;
}

/* Makes an element for a foreign name. */
export function named(name, properties = {}) {
	return make('bdi', {title: visible(name), ...properties}, visible(name));
}
