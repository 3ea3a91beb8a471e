/*
 * The flame graph's script: this file, flamegraph_views.js, flamegraph_search.js and
 * flamegraph_page.js are the body of one function (svg_assets.S). Here: the frames, the zoom, the
 * labels.
 *
 * A frame's name and weight come from its title (`name (1,234 samples, 12.34%)`), its place from
 * its path `Mx yhw`. A zoom moves one group, which also turns over for the other direction; of the frames it touches only those on the way to the
 * root, and once those that a deep zoom needs more exact. Labels lie in a layer of their own, as
 * many as can be read. Names are hostile: they become text, never markup or code.
 */
const NS = 'http://www.w3.org/2000/svg', XHTML = 'http://www.w3.org/1999/xhtml';
const MARGIN = 10, ROW = 16, PADDING = 3, MIN_CHARS = 3;
const DEEP = 8; /* from this scale on the rounding of the paths would be seen */

const svg = document.currentScript.ownerSVGElement;
const alone = svg === document.documentElement || svg.dataset.alone === '1';
const isDrawnIcicle = svg.dataset.icicle === '1', isDiff = svg.dataset.diff === '1';
let icicle = isDrawnIcicle; /* the root is at the top */
const part = (id) => svg.querySelector('#' + id);
const layer = part('frames'), head = part('head'), foot = part('foot');

const create = (name, ns = NS) => document.createElementNS(ns, name);
const set = (element, attributes) => {
	for (const [name, value] of Object.entries(attributes))
		element.setAttribute(name, value);
	return element;
};

/* --- text is measured on a canvas: asking the picture would lay out all of it --- */

const canvas = create('canvas', XHTML).getContext('2d');

function fontOf(element) {
	const style = getComputedStyle(element);

	return `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
}

function textWidth(font, text) {
	canvas.font = font;
	return canvas.measureText(text).width;
}

/* As much of the text as has room, and dots for the rest. */
function cut(font, text, room) {
	const letters = Array.from(text.slice(0, 2000));
	let fits = 0, over = letters.length;

	if (letters.length < 2000 && textWidth(font, text) <= room)
		return text;
	while (fits + 1 < over) {
		const half = (fits + over) >> 1;

		if (textWidth(font, letters.slice(0, half).join('') + '…') <= room)
			fits = half;
		else
			over = half;
	}
	return letters.slice(0, fits).join('') + '…';
}

/* --- the frames --- */

const staticTransform = layer.getAttribute('transform') || '';
const base = layer.transform.baseVal.consolidate();
const {a: scaleX, d: scaleY, e: moveX, f: moveY} = base ? base.matrix : svg.createSVGMatrix();

function readFrame(path) {
	const title = path.firstChild.textContent;
	const d = path.getAttribute('d'), xEnd = d.indexOf(' '), yEnd = d.indexOf('h');
	const unitEnd = title.lastIndexOf(', ');
	const numberEnd = unitEnd - svg.dataset.unit.length - 1;
	const numberBegin = title.lastIndexOf(' (', numberEnd) + 2;
	const y = Number(d.slice(xEnd + 1, yEnd));

	return path.frame = {
		path, d, name: title.slice(0, numberBegin - 2), numbers: title.slice(numberBegin - 2),
		value: Number(title.slice(numberBegin, numberEnd).replaceAll(',', '')),
		kind: path.getAttribute('class'),
		isHead: /^[cp]/.test(path.dataset.kind ?? path.getAttribute('class')), /* no function */
		self: Number(path.dataset.self ?? NaN), rest: 0, /* weight of children that aren't drawn */
		pathX: Number(d.slice(1, xEnd)), pathY: y, pathW: Number(d.slice(yEnd + 1)),
		x: 0, w: 1, /* parts of the picture */
		row: 0, index: 0, parent: null, children: [], isMatch: false, isSharp: false,
	};
}

/* Children come to their parents by their middle, which is right in spite of rounding. */
function link(rows) {
	for (let r = 1; r < rows.length; r++) {
		const below = rows[r - 1];
		let i = 0;

		for (const f of rows[r]) {
			while (i + 1 < below.length && below[i + 1].x <= f.x + f.w / 2)
				i++;
			f.parent = below[i];
			below[i].children.push(f);
		}
	}
}

/* Paths are rounded; at a deep zoom frames must neither overlap nor leave their parent. */
function straighten(f) {
	let least = f.x, rest = f.children.reduce((sum, child) => sum + child.w, 0);

	for (const child of f.children) {
		child.x = Math.max(least, Math.min(child.x, f.x + f.w - rest));
		least = child.x + child.w;
		rest -= child.w;
	}
}

/* A picture tells the own weight only where it isn't what the children leave. The root is no function. */
function divide(f) {
	const left = f.children.reduce((left, child) => left - child.value, f.value);

	if (isNaN(f.self))
		f.self = f.row ? left : 0;
	f.rest = Math.max(0, left - f.self);
}

function readRows() {
	const all = Array.from(layer.querySelectorAll('path'), readFrame);
	const first = all.reduce((r, f) => (isDrawnIcicle ? f.pathY < r.pathY : f.pathY > r.pathY) ? f : r, all[0]);
	const rows = [];

	for (const f of all) {
		f.row = Math.round(Math.abs((first.pathY - f.pathY) * scaleY) / ROW);
		f.x = (f.pathX - first.pathX) / first.pathW;
		f.w = first.value ? f.value / first.value : 1;
		(rows[f.row] ||= []).push(f);
	}
	for (const row of rows)
		row.sort((a, b) => a.x - b.x).forEach((f, i) => { f.index = i; });
	link(rows);
	rows.flat().forEach(straighten);
	rows.flat().forEach(divide);
	return rows;
}

const drawn = readRows(); /* as the picture was written */
let rows = drawn, frames = rows.flat(); /* parents before children */
let root = frames[0];
const rootY = root ? root.pathY * scaleY + moveY : 0; /* the row's middle, px */
const topY = rootY - (isDrawnIcicle ? 0 : (drawn.length - 1) * ROW);

let width = 0; /* of the frames, px */
let rowHeight = ROW;
let spare = 0; /* px without frames, where the picture is higher than they are */
let folded = 0; /* px at the top that aren't shown: unfold() */
let headExtra = 0; /* px that the head is higher than without the script */
let target = root; /* what is zoomed to */
let above = []; /* the frames from there to the root */
let at = null; /* the frame the keys are at */

function isInside(f) {
	const middle = f.x + f.w / 2;

	return f.row >= target.row && middle >= target.x && middle < target.x + target.w;
}

const leftOf = (f) => isInside(f) ? (f.x - target.x) / target.w * width : 0;
const rowY = (row) => topY + (rowHeight - ROW) / 2 +
	(icicle ? row * rowHeight : spare + (rows.length - 1 - row) * rowHeight);
const widthOf = (f) => isInside(f) ? f.w / target.w * width : width;

/* --- drawing --- */

/* over lies on the frames: labels, the cursor, at both sides what hides frames beside a zoom. */
const over = create('g'), labels = create('g'), cursor = create('rect');
const curtains = [create('rect'), create('rect')];
let labelFont = '', charWidth = 0;

function prepareOver() {
	labels.append(...layer.querySelectorAll('text'));
	set(labels, {id: 'labels', 'font-family': 'monospace'});
	set(cursor, {id: 'cursor', display: 'none'});
	for (const curtain of curtains)
		curtain.setAttribute('class', 'bar');
	over.append(labels, cursor, ...curtains);
	layer.after(over);
}

function sizeLabels() {
	labels.setAttribute('font-size', rowHeight > ROW ? 12 : 11);
	labelFont = fontOf(labels);
	charWidth = textWidth(labelFont, 'M'.repeat(50)) / 50;
}

/* What a function is called where the whole has no room, as simple_name.h has it. */
function simpleNames(label, suffix) {
	const name = /^[^ (]*/.exec(label)[0];
	const isScoped = /^[\w~]+(::[\w~]+)+(\(|$)/.test(label);
	const mark = isScoped ? ':' : '.', last = name.lastIndexOf(mark);

	if (!isScoped && (!'ji0p'.includes(suffix) || name.includes(':') ||
		last < 0 || last === name.length - 1))
		return [];
	const before = name.slice(0, isScoped ? last - 1 : last).lastIndexOf(mark);

	return [name, name.slice(before + 1), name.slice(last + 1)];
}

/* All that a function may be called, the whole name first. */
function namesOf(whole, withSuffix) {
	const [, label, suffix = ''] = /^(.*?)(_\[[a-z0-9]\])?$/s.exec(whole);

	return [label, ...simpleNames(label, suffix[2] || '-')]
		.map((name) => withSuffix ? name + suffix : name);
}

/* The name without its suffix: the colour says it, and the title. */
function labelOf(f, room) {
	const names = namesOf(f.name, false), columns = Math.floor(room / charWidth);
	const isPlain = /^[\x20-\x7e]*$/.test(names[0]);
	const name = names.find((name) =>
		isPlain ? name.length <= columns : textWidth(labelFont, name) <= room);

	if (name !== undefined)
		return name;
	const last = names.pop();

	return isPlain ? last.slice(0, columns - 1) + '…' : cut(labelFont, last, room);
}

function drawLabels() {
	const least = MIN_CHARS * charWidth + 2 * PADDING;
	const open = [target, ...above], used = labels.children;
	let n = 0;

	while (open.length) {
		const f = open.pop(), w = widthOf(f);

		if (w < least)
			continue;
		const text = used[n++] || labels.appendChild(create('text'));

		set(text, {x: (leftOf(f) + PADDING).toFixed(1), y: rowY(f.row) + 4});
		text.classList.toggle('match', f.isMatch);
		text.textContent = labelOf(f, w - 2 * PADDING);
		if (f.row >= target.row)
			for (const child of f.children)
				open.push(child);
	}
	while (used.length > n)
		used[n].remove();
}

const pathOf = (f, x, w) => 'M' +
	`${(root.pathX + x * root.pathW).toFixed(7)} ${f.pathY}h${(w * root.pathW).toFixed(7)}`;

/* Each frame once, and only where a zoom goes. */
function sharpen() {
	const open = target.w * DEEP < 1 ? [target] : [];

	while (open.length) {
		const f = open.pop();

		if (!f.isSharp) {
			f.isSharp = true;
			f.d = pathOf(f, f.x, f.w);
			f.path.setAttribute('d', f.d);
		}
		for (const child of f.children)
			open.push(child);
	}
}

function clearAbove() {
	for (const f of above) {
		f.path.setAttribute('d', f.d);
		f.path.classList.remove('up');
	}
	above = [];
}

function drawAbove() {
	clearAbove();
	for (let f = target.parent; f; f = f.parent) {
		f.path.setAttribute('d', pathOf(f, target.x, target.w));
		f.path.classList.add('up');
		above.push(f);
	}
}

function drawCursor() {
	if (at)
		set(cursor, {x: leftOf(at), y: rowY(at.row) - rowHeight / 2 + .5,
			width: Math.max(3, widthOf(at)), height: rowHeight - 1});
	cursor.setAttribute('display', at ? 'inline' : 'none');
}

function draw() {
	const scale = width / (target.w * root.pathW * scaleX);
	const left = (root.pathX + target.x * root.pathW) * scaleX + moveX;
	const rise = (icicle === isDrawnIcicle ? rowHeight : -rowHeight) / ROW;
	const down = headExtra - folded;

	layer.setAttribute('transform', `matrix(${scale} 0 0 ${rise} ${MARGIN - left * scale} ` +
		`${down + rowY(0) - rise * rootY}) ${staticTransform}`);
	over.setAttribute('transform', `translate(${MARGIN} ${down})`);
	set(curtains[0], {x: -MARGIN, width: MARGIN, height: tall});
	set(curtains[1], {x: width, width: full - width + MARGIN, height: tall});
	drawLabels();
	drawCursor();
}

/* Draws even where nothing changes. */
function zoom(f) {
	target = f;
	sharpen();
	drawAbove();
	if (at && !isInside(at) && !above.includes(at))
		at = null;
	draw();
	arrange();
	showMatched();
	show(at);
	fillTable();
}
