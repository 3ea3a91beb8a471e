/*
 * Zoom, search, details and resizing. What a frame is called and weighs is read from its title
 * (`name (1,234 samples, 12.34%)`), where it begins from its x; widths come from the weights.
 * Works without anything from elsewhere.
 */
(() => {
'use strict';
const MARGIN = 10, ROW = 16, FOOT = 28;
const PADDING = 3, MIN_CHARS = 3;
const NS = 'http://www.w3.org/2000/svg';
const HINT = 'Click a frame to zoom, / to search, arrows to move, Esc to reset';

const svg = document.currentScript.ownerSVGElement;
const alone = svg === document.documentElement;
const part = (id) => svg.querySelector('#' + id);
const layer = part('frames'), head = part('head'), foot = part('foot'), details = part('details');
const unzoomControl = part('unzoom'), searchControl = part('search'), matchedText = part('matched');
const facts = part('facts'), allFacts = facts.textContent;
const height = Number(svg.getAttribute('height'));
const STATIC_WIDTH = Number(svg.getAttribute('width')) - 2 * MARGIN;

let width = STATIC_WIDTH; /* of the frames, px */
let charWidth = 6.63;
let pattern = null; /* of the search */
let at = null; /* the frame the arrow keys are at */

/* --- the frames --- */

/* A frame is a `<path d="Mx yhw">`, its label the `<text>` behind it; y is the row's middle. */
function readFrame(path) {
	const title = path.firstChild.textContent, next = path.nextElementSibling;
	const [, x, y] = /^M(\S+) (\S+)h/.exec(path.getAttribute('d'));
	const unitEnd = title.lastIndexOf(', ');
	const numberEnd = unitEnd - svg.dataset.unit.length - 1;
	const numberBegin = title.lastIndexOf(' (', numberEnd) + 2;
	const name = title.slice(0, numberBegin - 2);

	return {
		path, title, name, text: next && next.localName === 'text' ? next : null,
		label: name.replace(/_\[[a-z0-9]\]$/, ''),
		value: Number(title.slice(numberBegin, numberEnd).replace(/,/g, '')),
		x: (Number(x) - MARGIN) / STATIC_WIDTH,
		y: Number(y),
		w: 1, row: 0, parent: null, children: [], shown: true,
	};
}

/* Children come to their parents by their middle, which is right in spite of rounding. */
function link(rows) {
	for (let r = 1; r < rows.length; r++) {
		let i = 0;

		for (const f of rows[r]) {
			const middle = f.x + f.w / 2, below = rows[r - 1];

			while (i + 1 < below.length && below[i + 1].x <= middle)
				i++;
			f.parent = below[i];
			below[i].children.push(f);
		}
	}
}

/* x is rounded to 3 decimals; at a deep zoom frames must neither overlap nor leave their parent. */
function straighten(rows) {
	for (const row of rows) {
		for (const f of row) {
			let least = f.x, rest = f.children.reduce((sum, child) => sum + child.w, 0);

			for (const child of f.children) {
				child.x = Math.max(least, Math.min(child.x, f.x + f.w - rest));
				least = child.x + child.w;
				rest -= child.w;
			}
		}
	}
}

function readFrames() {
	const rows = [];
	const all = Array.from(layer.querySelectorAll('path'), readFrame);
	const bottom = all.reduce((most, f) => Math.max(most, f.y), 0);
	const root = all.find((f) => f.y === bottom);

	for (const f of all) {
		f.row = Math.round((bottom - f.y) / ROW);
		f.w = root.value ? f.value / root.value : 1;
		(rows[f.row] ||= []).push(f);
		f.path.frame = f;
	}
	for (const row of rows)
		row.sort((a, b) => a.x - b.x);
	link(rows);
	straighten(rows);
	return rows.flat();
}

const frames = readFrames(); /* parents before children */
const root = frames[0];
let target = root; /* what is zoomed to */

/* --- drawing --- */

const columnsOf = (letter) => letter.codePointAt(0) >= 0x1100 ? 2 : 1; /* CJK: as in svg.c */

function cut(label, columns) {
	let used = 0, kept = ''; /* `kept` leaves room for the dots */

	if (/^[\x20-\x7e]*$/.test(label))
		return label.length <= columns ? label : label.slice(0, columns - 1) + '…';
	for (const letter of label) {
		used += columnsOf(letter);
		if (used > columns)
			return kept + '…';
		if (used < columns)
			kept += letter;
	}
	return label;
}

function drawLabel(f, x, w) {
	const columns = Math.floor((w - 2 * PADDING) / charWidth);
	const content = columns >= MIN_CHARS ? cut(f.label, columns) : '';

	if (!f.text) {
		if (!content)
			return;
		f.text = document.createElementNS(NS, 'text');
		f.text.setAttribute('y', f.y + 4);
		f.path.after(f.text);
	}
	f.text.textContent = content;
	f.text.setAttribute('x', (x + PADDING).toFixed(1));
}

function drawFrame(f, left, right) {
	const x = MARGIN + left * width, w = Math.max(0, (right - left) * width);

	f.path.setAttribute('d', `M${x.toFixed(2)} ${f.y}h${w.toFixed(2)}`);
	drawLabel(f, x, w);
}

function draw() {
	const above = new Set();

	for (let f = target.parent; f; f = f.parent)
		above.add(f);
	for (const f of frames) {
		const isAbove = above.has(f);

		f.inside = f === target || Boolean(f.parent && f.parent.inside);
		f.shown = isAbove || f.inside;
		f.path.classList.toggle('off', !f.shown);
		if (f.text)
			f.text.classList.toggle('off', !f.shown);
		f.path.classList.toggle('up', isAbove);
		if (isAbove) {
			drawFrame(f, 0, 1);
		} else if (f.inside) {
			const left = (f.x - target.x) / target.w;

			drawFrame(f, left, left + f.w / target.w);
		}
	}
	unzoomControl.setAttribute('display', target === root ? 'none' : 'inline');
	showMatched();
}

function zoom(f) {
	target = f;
	draw();
}

function show(f) {
	details.textContent = f ? f.title : HINT;
}

/* --- search --- */

/* Weight of the stacks through `f` that have a match; a match within a match counts once. */
function matchedWeight(f) {
	for (let up = f; up; up = up.parent) {
		if (up.isMatch)
			return f.value;
	}
	let sum = 0;
	const open = [...f.children];

	while (open.length) {
		const next = open.pop();

		if (next.isMatch)
			sum += next.value;
		else
			for (const child of next.children)
				open.push(child);
	}
	return sum;
}

function percent(f) {
	return (f.value ? 100 * matchedWeight(f) / f.value : 0).toFixed(2) + '%';
}

function showMatched() {
	if (!pattern)
		return;
	matchedText.textContent = 'Matched: ' + percent(root) +
		(target === root ? '' : ' of all, ' + percent(target) + ' of this view');
}

/* Without a capital letter in the pattern, case doesn't matter. */
function compile(term) {
	return new RegExp(term, /[A-Z]/.test(term.replace(/\\./g, '')) ? '' : 'i');
}

function search(term) {
	try {
		pattern = term ? compile(term) : null;
	} catch {
		matchedText.textContent = 'Not a regular expression: ' + term;
		return;
	}
	for (const f of frames) {
		f.isMatch = Boolean(pattern && pattern.test(f.name));
		f.path.classList.toggle('match', f.isMatch);
	}
	searchControl.textContent = pattern ? 'Reset Search' : 'Search';
	matchedText.textContent = '';
	showMatched();
}

function askAndSearch() {
	const term = prompt('Search for a function (regular expression):',
		pattern ? pattern.source : '');

	if (term !== null)
		search(term);
}

/* --- keys and mouse --- */

function moveTo(f) {
	if (!f)
		return;
	if (at)
		at.path.classList.remove('at');
	at = f;
	at.path.classList.add('at');
	show(at);
	const top = at.y - head.getBBox().height, bottom = at.y + ROW + FOOT;

	if (alone && (top < scrollY || bottom > scrollY + innerHeight))
		scrollTo(scrollX, at.y - innerHeight / 2);
}

const moves = {
	ArrowUp: (f) => f.children.filter((c) => c.shown)
		.reduce((most, c) => most && most.value >= c.value ? most : c, null),
	ArrowDown: (f) => f.parent,
	ArrowLeft: (f) => neighbour(f, -1),
	ArrowRight: (f) => neighbour(f, 1),
};

function neighbour(f, step) {
	const row = frames.filter((other) => other.row === f.row && other.shown);

	return row[row.indexOf(f) + step];
}

function reset() {
	search('');
	zoom(root);
	if (at)
		at.path.classList.remove('at');
	at = null;
	show(null);
}

function onKey(event) {
	const find = event.key.toLowerCase() === 'f' && (event.ctrlKey || event.metaKey);

	if (find || (event.key === '/' && !event.ctrlKey && !event.metaKey))
		askAndSearch();
	else if (event.ctrlKey || event.metaKey || event.altKey)
		return;
	else if (event.key === 'Escape')
		reset();
	else if (event.key === 'Enter' && at)
		zoom(at);
	else if (moves[event.key])
		moveTo(at && at.shown ? moves[event.key](at) : target);
	else
		return;
	event.preventDefault();
}

const frameOf = (event) => {
	return event.target.frame || (event.target.parentNode && event.target.parentNode.frame);
};

/* --- the window --- */

/* Head and foot stay in sight when the picture is taller than the window. */
function stick() {
	if (!alone)
		return;
	head.setAttribute('transform', `translate(0 ${scrollY})`);
	foot.setAttribute('transform',
		`translate(0 ${Math.min(0, scrollY + innerHeight - height)})`);
}

/* On a canvas: asking the picture would lay out all of it. 0 where there is none. */
function textWidth(element, text) {
	const canvas = document.createElementNS('http://www.w3.org/1999/xhtml', 'canvas');
	const context = canvas.getContext && canvas.getContext('2d');
	const style = getComputedStyle(element);

	if (!context)
		return 0;
	context.font = `${style.fontSize} ${style.fontFamily}`;
	return context.measureText(text).width;
}

function fitFacts() {
	const part = width / textWidth(facts, allFacts);

	facts.textContent = part >= 1 ? allFacts :
		allFacts.slice(0, Math.max(0, Math.floor(allFacts.length * part) - 2)) + '…';
}

function resize() {
	width = Math.max(100, svg.getBoundingClientRect().width - 2 * MARGIN);
	fitFacts();
	stick();
	draw(); /* last: what asks for sizes after it would lay out all frames once more */
}

function start() {
	let pending = 0;

	svg.removeAttribute('viewBox');
	svg.setAttribute('width', '100%');
	searchControl.setAttribute('display', 'inline');
	layer.addEventListener('click', (event) => {
		const f = frameOf(event);

		if (f)
			zoom(f);
	});
	layer.addEventListener('mouseover', (event) => show(frameOf(event)));
	layer.addEventListener('mouseleave', () => show(at));
	unzoomControl.addEventListener('click', () => zoom(root));
	searchControl.addEventListener('click', () => pattern ? search('') : askAndSearch());
	addEventListener('keydown', onKey);
	addEventListener('scroll', stick);
	addEventListener('resize', () => {
		cancelAnimationFrame(pending);
		pending = requestAnimationFrame(resize);
	});
	charWidth = textWidth(layer, 'M'.repeat(50)) / 50 || charWidth;
	show(null);
	resize();
	if (alone && height > innerHeight)
		requestAnimationFrame(() => scrollTo(0, height)); /* to the root */
}

start();
})();
