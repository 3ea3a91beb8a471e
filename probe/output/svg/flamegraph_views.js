/*
 * Other views of the same stacks: the root at the other end, recursion as one frame, a table of
 * functions.
 */

/* --- recursion --- */

const CYCLE_MAX = 4; /* frames of a cycle */
let collapsed = null; /* rows without recursion, once they have been asked for */
let isCollapsed = false;

/* Whether the last `length` names are once more those before them, with `key` behind `node`; `end`
 * is that many frames below it. */
function isRepeated(key, node, end, length) {
	if (end.key !== key)
		return false;
	for (let i = 1, before = end.parent; i < length; i++) {
		if (!before || node.key !== before.key)
			return false;
		node = node.parent;
		before = before.parent;
	}
	return true;
}

/* Where a call of f leads to from `node`: back, where it closes a cycle; else to a child. */
function step(node, f) {
	const key = f.kind[0] + f.name;

	for (let length = 1, end = node; length <= CYCLE_MAX && end; length++, end = end.parent) {
		if (isRepeated(key, node, end, length))
			return end;
	}
	const child = node.called.get(key) || {
		...f, key, first: f, parent: node, called: new Map(), children: [], row: node.row + 1,
		value: 0, self: 0, rest: 0, print: undefined, isMatch: false, isSharp: true,
	};

	node.called.set(key, child);
	return child;
}

/* Adds up the weights from the leaves on; nodes are parents before children. */
function weigh(nodes) {
	for (const node of nodes.reverse()) {
		node.value += node.self + node.rest;
		if (node.parent)
			node.parent.value += node.value;
	}
	return nodes.reverse().filter((node) => node.value || !node.parent);
}

function drawCollapsed(node) {
	const of = drawn[0][0], title = create('title');

	if (node.value !== node.first.value)
		node.numbers = ` (${node.value.toLocaleString('en-US')} ${svg.dataset.unit}, ` +
			`${percent(node.value, of.value)})`;
	title.textContent = node.name + node.numbers;
	node.pathY = of.pathY + (isDrawnIcicle ? ROW : -ROW) / scaleY * node.row;
	node.d = `M${of.pathX + node.x * of.pathW} ${node.pathY}h${node.w * of.pathW}`;
	node.path = set(create('path'), {class: node.kind, d: node.d});
	node.path.append(title);
	node.path.frame = node;
}

/* The rows without recursion. A stack that ends in a cycle is as heavy where it leaves it. */
function collapse() {
	const first = drawn[0][0];
	const top = {...first, key: '', first, called: new Map(), children: [], value: 0, self: 0,
		rest: 0, print: undefined, isMatch: false, isSharp: true};
	const open = [[first, top]], nodes = new Set([top]), made = [];

	while (open.length) {
		const [f, node] = open.pop();

		f.into = node;
		node.self += f.self;
		node.rest += f.rest;
		for (const child of f.children) {
			const next = step(node, child);

			nodes.add(next);
			open.push([child, next]);
		}
	}
	for (const node of weigh([...nodes])) {
		let x = node.x + (first.value ? node.self / first.value : 0);

		for (const child of node.called.values()) {
			child.x = x;
			child.w = first.value ? child.value / first.value : 1;
			x += child.w;
			if (child.value)
				node.children.push(child);
		}
		const row = made[node.row] ||= [];

		node.index = row.push(node) - 1;
		drawCollapsed(node);
	}
	for (const row of made)
		row.sort((a, b) => a.x - b.x).forEach((f, i) => { f.index = i; });
	return made;
}

/* What shows f without recursion. A frame that leads only to calls that close a cycle has no weight
 * there and isn't drawn; what is below it stands for it. */
function shownFor(f) {
	let node = f.into;

	while (!node.value && node.parent)
		node = node.parent;
	return node;
}

function setCollapsed(on) {
	if (on === isCollapsed || isDiff)
		return;
	isCollapsed = on;
	clearAbove();
	collapsed ||= collapse();
	rows = on ? collapsed : drawn;
	frames = rows.flat();
	root = frames[0];
	target = on ? shownFor(target) : target.first;
	at &&= on ? shownFor(at) : at.first;
	layer.replaceChildren();
	for (const f of frames)
		layer.append(f.path);
	collapseControl.setAttribute('aria-pressed', on);
	search(field.value);
}

function toggleCollapsed() {
	if (isDiff)
		return;
	setCollapsed(!isCollapsed);
	showView();
}

/* --- the root at the other end --- */

function setIcicle(on) {
	icicle = on;
	icicleControl.setAttribute('aria-pressed', on);
}

function toggleIcicle() {
	setIcicle(!icicle);
	showView();
	if (alone)
		scrollTo(scrollX, icicle ? 0 : tall);
}

/* --- the table --- */

const TABLE_ROWS = 200;
const COLUMNS = [['self', 'Self'], ['total', 'Total']];
let tableBy = ''; /* what it is sorted by; '': it isn't shown */
let tableWidth = 0;

function html(name, attributes, ...content) {
	const element = set(create(name, XHTML), attributes);

	element.append(...content);
	return element;
}

const tableBox = set(create('foreignObject'), {id: 'functions', display: 'none'});
const tableHeads = COLUMNS.map(([by, text]) => {
	const button = html('button', {type: 'button'}, text);

	button.addEventListener('click', () => showTable(by));
	return html('th', {scope: 'col', colspan: 2}, button);
});
const tableRows = html('tbody', {}), tableNote = html('p', {});

/* The functions of what is zoomed to. A stack counts once for each, also where it recurs. */
function sumFunctions() {
	const found = new Map(), open = [[target, false]];
	let rest = 0;

	while (open.length) {
		const [f, isLeft] = open.pop();
		const sum = found.get(f.name) || {name: f.name, self: 0, total: 0, entered: 0};

		if (isLeft) {
			sum.entered--;
			continue;
		}
		rest += f.rest;
		if (f !== root && !f.isHead) {
			found.set(f.name, sum);
			sum.self += f.self;
			sum.total += sum.entered++ ? 0 : f.value;
			open.push([f, true]);
		}
		for (const child of f.children)
			open.push([child, false]);
	}
	return [[...found.values()], rest];
}

function tableRow(sum) {
	const button = html('button', {type: 'button'}, sum.name);
	const row = html('tr', {title: sum.name});

	for (const [by] of COLUMNS)
		row.append(html('td', {}, amount(sum[by]).slice(3) || sum[by].toLocaleString('en-US')),
			html('td', {}, percent(sum[by], target.value)));
	row.append(html('td', {}, button));
	button.addEventListener('click', () => searchFor(sum.name));
	return row;
}

/* What is read from the page is read at once, before any name is changed. */
function fitNames() {
	const buttons = Array.from(tableRows.querySelectorAll('button'));

	if (!tableBy || !buttons.length)
		return;
	const font = fontOf(buttons[0]), room = buttons[0].clientWidth;

	for (const button of buttons) {
		const names = namesOf(button.parentNode.parentNode.title, true);

		button.textContent = names.find((name) => textWidth(font, name) <= room) ?? names.pop();
	}
}

function markRows() {
	for (const row of tableRows.children)
		row.classList.toggle('match', pattern !== null && pattern.test(row.title));
}

function fillTable() {
	if (!tableBy)
		return;
	const [sums, rest] = sumFunctions(), other = tableBy === 'self' ? 'total' : 'self';
	const shown = sums.sort((a, b) => b[tableBy] - a[tableBy] || b[other] - a[other] ||
		(a.name < b.name ? -1 : 1)).slice(0, TABLE_ROWS);

	COLUMNS.forEach(([by], i) =>
		tableHeads[i].setAttribute('aria-sort', by === tableBy ? 'descending' : 'none'));
	tableRows.replaceChildren(...shown.map(tableRow));
	tableNote.textContent = `${shown.length.toLocaleString('en-US')} of ` +
		`${sums.length.toLocaleString('en-US')} functions` +
		(rest ? `; ${percent(rest, target.value)} are in frames too narrow to be drawn` : '');
	fitNames();
	markRows();
}

/* The function alone, as a regular expression that compile() knows for a whole name. */
function searchFor(name) {
	field.value = `^${name.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}$`;
	openField();
	search(field.value);
	keepState(false);
}

function setTable(by) {
	tableBy = by;
	tableBox.setAttribute('display', by ? 'inline' : 'none');
	tableControl.setAttribute('aria-pressed', by !== '');
}

function showTable(by) {
	setTable(by);
	showView();
}

const toggleTable = () => showTable(tableBy ? '' : 'self');

/* Right of the frames, or over them. */
function placeTable() {
	const y = staticHead + headExtra;

	set(tableBox, {x: MARGIN + full - tableWidth, y, width: tableWidth,
		height: Math.max(60, (alone ? innerHeight : tall) - y - staticFoot - footExtra - 4)});
}

/* Keys that mean something here don't reach the frames. */
function onTableKey(event) {
	if (event.key === 'Escape') {
		showTable('');
		layer.focus();
	} else if (event.key !== 'Enter' && event.key !== ' ' && !event.key.startsWith('Arrow')) {
		return;
	}
	event.stopPropagation();
}

/* --- their controls --- */

function addControl(id, text, hint, key, act) {
	const control = set(create('text'), {id, class: 'control', 'text-anchor': 'end',
		'aria-pressed': false, 'aria-keyshortcuts': key});
	const title = create('title');

	title.textContent = `${hint} (key ${key})`;
	control.append(text, title);
	prepareControl(control, act);
	head.append(control);
	return control;
}

const icicleControl = addControl('icicle', 'Icicle', 'The root on top', 'i', toggleIcicle);
const collapseControl = addControl('collapse', 'Collapse', 'Recursion as one frame', 'r',
	toggleCollapsed);
const tableControl = addControl('table', 'Table', 'The heaviest functions', 't', toggleTable);

function showView() {
	layOut();
	zoom(target);
	keepState(false);
}

function prepareViews() {
	const names = html('th', {scope: 'col'}, 'Function');
	const table = html('table', {}, html('thead', {}, html('tr', {}, ...tableHeads, names)), tableRows);

	tableBox.append(html('div', {class: 'functions'}, table, tableNote));
	tableBox.addEventListener('keydown', onTableKey);
	head.append(tableBox);
	if (isDiff)
		collapseControl.setAttribute('display', 'none');
}
