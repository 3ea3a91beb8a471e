/* Texts for people: numbers with their units, names that are hostile, elements. */
const CONTROL = /[\u0000-\u001f\u007f]/g;
const SCALES = {
	bytes: [1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']],
	us: [1000, ['us', 'ms', 's', 'ks', 'Ms']],
};

/* Shows control bytes as pictures (U+2400…). */
export const visible = (name) => name.replace(CONTROL, (c) => String.fromCharCode(0x2400 + Math.min(c.charCodeAt(0), 0x21)));

/* Keeps letters that turn the direction of writing to this text. */
export const isolate = (text) => `\u2068${visible(text)}\u2069`;

export const foldedName = (name) => name.replace(CONTROL, ' ').replaceAll(';', ':');

export function number(value) {
	const [whole, fraction] = String(Math.round(100 * value) / 100).split('.'); /* the browser's own way takes 50 ms at first */

	return whole.replace(/\B(?=(\d{3})+$)/g, ',') + (fraction ? `.${fraction}` : '');
}

/* Returns a value with its unit: of bytes and times in a scale that can be read. */
export function amount(value, unit) {
	const [base, names] = SCALES[unit] ?? [Infinity, [unit]];
	let step = 0;

	for (; Math.abs(value) >= base && step < names.length - 1; step++)
		value /= base;
	return `${step ? value.toFixed(1) : number(value)} ${names[step]}`;
}

export const percent = (part, whole) => whole ? `${(100 * part / whole).toFixed(2)} %` : '–';

/*
 * Returns what a share is uncertain by, " ± 0.9": where each sample is drawn by itself, by the clock, the standard
 * deviation of a share of so many samples. (Not where the guard left some out: others stand for them.)
 */
export function error(part, whole, meta) {
	const share = part / whole;

	return meta.period_ns && whole && !meta.left_out ? ` ± ${(100 * Math.sqrt(share * (1 - share) / whole)).toFixed(2)}` : '';
}

/* Returns what is said of a node that only the range before has; '' of others. */
export function goneWords({total, wide, frames, frame, meta}, node) {
	return total[node] || !wide[node] ? ''
		: `${frames.changeOf(frame[node]) < 0 ? 'gone' : 'not seen here'}: ${amount(wide[node], meta.unit)} before`;
}

/* Returns a time of the browser's zone, with that: an hour that comes twice has two texts. */
export function clock(seconds) {
	const date = new Date(1000 * seconds), local = new Date(date - 60000 * date.getTimezoneOffset());

	return `${local.toISOString().slice(0, 19).replace('T', ' ')} ${String(date).slice(28, 33)}`;
}

export const facts = (...all) => all.filter(Boolean).join(' · ');

export const clocks = ({from, until}) => `${clock(from)} – ${clock(until)}`;

export const get = (selector) => document.querySelector(selector);

/* Says something to the user, in one place that screen readers read out. */
export function say(text, isError = false) {
	get('#status').textContent = text;
	get('#status').classList.toggle('error', isError);
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
export function named(name) {
	const text = visible(name ?? '');

	return make('bdi', {title: text}, text);
}

export const nameButton = (name, onclick, properties) => make('button', {className: 'name', onclick, ...properties}, named(name));

/* Makes options out of [value, text], or [value]. */
export const options = (values) => values.map(([value, text = value]) => make('option', {value}, text));

/* Returns a column that can be sorted by, as fill() takes it. */
export function sortable(title, key, className, by, isUp, onSort, help = '') {
	return [make('button', {className: 'sort', 'data-by': key, title: help, onclick: () => onSort(key)}, title), className,
		{'aria-sort': key !== by ? 'none' : isUp ? 'ascending' : 'descending'}];
}

export const headOf = (columns) => columns.map(([title, className, properties]) => make('th', {scope: 'col', className, ...properties}, title));

/* Fills a table. A column is [title, class, properties of its head]; a cell is a list of what is in it. */
export function fill(table, caption, columns, rows) {
	table.replaceChildren(make('caption', {}, caption), make('thead', {}, make('tr', {}, ...headOf(columns))),
		make('tbody', {}, ...rows.map((cells) => make('tr', {}, ...cells.map((cell, i) => make('td', {className: columns[i][1]}, ...cell))))));
}

/* Draws something anew; what has the focus in it is found again by its data. */
export function redraw(draw) {
	const data = Object.entries(document.activeElement.dataset);

	draw();
	if (data.length && document.activeElement === document.body)
		get(data.map(([key, value]) => `[data-${key}="${CSS.escape(value)}"]`).join(''))?.focus({preventScroll: true});
}

/* Does what keys say; one whose work returns false is left to others. */
export function onKeys(element, keys) {
	element.onkeydown = (event) => {
		if (keys[event.key] && keys[event.key](event) !== false)
			event.preventDefault();
	};
}

/* Moves the focus to one of several elements, which is the one that Tab reaches from then on. */
export function rove(within, element) {
	if (!element)
		return;
	for (const other of within.querySelectorAll('[tabindex="0"]'))
		other.tabIndex = -1;
	element.tabIndex = 0;
	element.focus();
}
