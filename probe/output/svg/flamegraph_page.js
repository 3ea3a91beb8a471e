/* Head and foot, keys and mouse, the window's size; the start. */
const LINE = 16, GAP = 14;
const NARROW = 700; /* below this the foot has two lines, and controls have one of their own */
const SMALL = 500; /* below this rows are higher and letters larger */
const TABLE_MOST = 560;
const HINT = 'Click a frame to zoom, / to search, arrows to move, Esc to reset';

const heading = part('title'), headBar = head.querySelector('rect');
const footBar = foot.querySelector('rect');
const details = part('details'), facts = part('facts'), unzoomControl = part('unzoom');
const headingText = heading.textContent, allFacts = facts.textContent.split(' · ');
const heightOf = (element) => Number(element.getAttribute('height'));
const staticHeight = heightOf(svg), staticHead = heightOf(headBar), staticFoot = heightOf(footBar);
let footExtra = 0; /* px that the foot is higher */
let full = 0; /* px that head and foot are wide; the frames, too, if there is no table */
let tall = 0; /* px that all of the picture is high */
let isUntouched = alone;

/* --- what is said --- */

/* By unit: the least value that is told so, and sizes with their names. */
const SCALES = new Map([
	['us', [10000, [1e3, 'ms'], [1e6, 's'], [6e7, 'min'], [3.6e9, 'h']]],
	['bytes', [10240, [2 ** 10, 'KiB'], [2 ** 20, 'MiB'], [2 ** 30, 'GiB'], [2 ** 40, 'TiB']]],
]);

/* An amount as people read it, as output/text/number.h has it. */
function amount(value) {
	const [least, ...steps] = SCALES.get(svg.dataset.unit) || [Infinity];

	if (value < least)
		return '';
	const [size, name] = steps.filter((step, i) => !i || value >= step[0]).pop();
	return ` = ${Math.round(value * 10 / size) / 10} ${name}`;
}

/* Of samples of a clock: how much of a CPU they are. */
function cpuShare(value) {
	const share = value * (svg.dataset.cpu || 0);

	if (!share)
		return '';
	return share < 1 ? ` = ${Math.round(share * 1000) / 10}% of a CPU` : ` = ${Math.round(share * 10) / 10} CPUs`;
}

/* What frames mean that are no code. */
const MEANINGS = new Map([
	['[truncated]', 'stacks that are not followed to their root'],
	['[unknown]', 'nothing is known of that address'],
	['[jit]', 'code made at run time, whose process tells no name'],
	['[jvm]', "stacks of the Java VM's own threads"],
]);

function meaning(f) {
	const told = MEANINGS.get(f.name.replace(/_\[.\]$/, ''));

	return told ? ': ' + told : '';
}

/* The name gives way to its numbers; what it does to the direction of text ends with it. */
function show(f) {
	const font = fontOf(details), beside = footExtra ? '' : matchedText.textContent;
	const room = full - (beside ? textWidth(font, beside) + 2 * GAP : 0);

	if (!f) {
		details.textContent = cut(font, HINT, room);
		return;
	}
	const numbers = f.numbers + amount(f.value) + cpuShare(f.value) + meaning(f) + (target === root || !isInside(f) ? '' :
		` · ${percent(f.value, target.value)} of this view`);

	details.textContent = '\u2068' + cut(font, f.name, room - textWidth(font, numbers)) +
		'\u2069' + numbers;
}

/* Controls from the right to the left; the heading has the rest. */
function arrange() {
	const isNarrow = full < NARROW;
	const widthOfText = (control) => textWidth(fontOf(control), control.firstChild.data);
	let right = MARGIN + full - widthOfText(searchControl);

	if (isFieldOpen()) {
		right -= FIELD_WIDTH + GAP;
		box.setAttribute('x', right);
	}
	unzoomControl.setAttribute('display', target === root ? 'none' : 'inline');
	const gap = isNarrow ? 10 : GAP;
	let x = isNarrow ? MARGIN + full : right - gap;

	for (const control of [tableControl, collapseControl, icicleControl, unzoomControl]) {
		set(control, {x, y: isNarrow ? 24 + LINE + 2 : 24});
		if (control.getAttribute('display') !== 'none')
			x -= widthOfText(control) + gap;
	}
	heading.textContent = cut(fontOf(heading), headingText, (isNarrow ? right - gap : x) - MARGIN);
}

/* Facts and legend go on in further lines, whose number is returned. */
function wrapFacts(down) {
	const font = fontOf(facts), lines = [];

	for (const fact of allFacts) {
		const longer = lines.length ? lines[lines.length - 1] + ' · ' + fact : fact;

		if (lines.length && textWidth(font, longer) <= full)
			lines[lines.length - 1] = longer;
		else
			lines.push(cut(font, fact, full));
	}
	facts.replaceChildren(...lines.map((line, i) => {
		const span = set(create('tspan'), {x: MARGIN, dy: i ? LINE : down * LINE});

		span.textContent = line;
		return span;
	}));
	return lines.length;
}

/* Its items are pairs of a swatch and a text, which stands 16 px further right. */
function wrapLegend(down) {
	const items = Array.from(part('legend').children);
	let x = MARGIN, lines = 1;

	for (let i = 0; i + 1 < items.length; i += 2) {
		const [swatch, text] = items.slice(i, i + 2);
		const left = Number(text.getAttribute('x')) - 16;
		const itemWidth = 16 + textWidth(fontOf(text), text.textContent);

		if (x > MARGIN && x + itemWidth > MARGIN + full) {
			x = MARGIN;
			lines++;
		}
		const move = `translate(${x - left} ${(down + lines - 1) * LINE})`;

		swatch.setAttribute('transform', move);
		text.setAttribute('transform', move);
		x += itemWidth + GAP;
	}
	return lines;
}

/* Head and foot stay in sight when the picture is taller than the window. */
function stick() {
	const down = alone ? scrollY : 0;
	const up = alone ? Math.min(0, scrollY + innerHeight - tall) : 0;

	head.setAttribute('transform', `translate(0 ${down})`);
	foot.setAttribute('transform', `translate(0 ${tall - staticHeight - footExtra + up})`);
}

/* The frames' height, and what is above them: room, or what a person can scroll to. */
function layOutRows() {
	rowHeight = full < SMALL ? ROW + 4 : ROW;
	sizeLabels();
	tall = staticHeight + headExtra + footExtra + rows.length * rowHeight - drawn.length * ROW;
	spare = tableBy && alone ? Math.max(0, innerHeight - tall) : 0;
	tall += spare;
	folded = isUntouched && !icicle ? Math.max(0, tall - innerHeight) : 0;
	svg.setAttribute('height', tall - folded);
}

/*
 * Until somebody is there, a picture that is higher than its window shows its root and is no higher
 * than the window, so that whatever captures the page from its top shows the graph. Then the rest
 * comes above, scrolled away: nothing moves.
 */
const SIGNS = ['pointerover', 'pointerdown', 'touchstart', 'wheel', 'keydown', 'focusin', 'beforeprint'];

function unfold() {
	const wasFolded = folded;

	for (const sign of SIGNS)
		removeEventListener(sign, unfold, true);
	isUntouched = false;
	if (!wasFolded)
		return;
	layOut();
	draw();
	scrollTo(scrollX, wasFolded);
	stick();
}

function layOut() {
	full = Math.max(100, svg.getBoundingClientRect().width - 2 * MARGIN);
	const isNarrow = full < NARROW, controls = isNarrow ? 1 : 0;
	const factLines = controls + wrapFacts(controls), legendLines = wrapLegend(factLines - 1);

	tableWidth = isNarrow ? full : Math.min(TABLE_MOST, full / 2);
	width = full - (tableBy && !isNarrow ? tableWidth + GAP : 0);
	headExtra = (factLines + legendLines - 2) * LINE;
	footExtra = isNarrow ? LINE : 0;
	layOutRows();
	placeTable();
	part('empty')?.setAttribute('transform', `translate(0 ${headExtra})`);
	headBar.setAttribute('height', staticHead + headExtra);
	footBar.setAttribute('height', staticFoot + footExtra);
	matchedText.setAttribute('y', Number(details.getAttribute('y')) + footExtra);
	arrange();
	stick();
	show(at);
}

/* --- keys and mouse --- */

function zoomByHand(f) {
	if (f === target)
		return;
	zoom(f);
	keepState(true);
}

function moveTo(f) {
	if (!f)
		return;
	at = f;
	drawCursor();
	show(at);
	const y = rowY(at.row) + headExtra, top = y - ROW - staticHead - headExtra, bottom = y + 3 * ROW;

	if (alone && (top < scrollY || bottom > scrollY + innerHeight))
		scrollTo(scrollX, y - innerHeight / 2);
}

function widestChild(f) {
	if (above.includes(f))
		return above[above.indexOf(f) - 1] || target;
	return f.children.reduce((most, c) => most && most.value >= c.value ? most : c, null);
}

function neighbour(f, step) {
	const other = rows[f.row][f.index + step];

	return other && isInside(other) ? other : null;
}

const moves = {
	ArrowUp: (f) => icicle ? f.parent : widestChild(f),
	ArrowDown: (f) => icicle ? widestChild(f) : f.parent,
	ArrowLeft: (f) => neighbour(f, -1),
	ArrowRight: (f) => neighbour(f, 1),
};

const views = new Map([['i', toggleIcicle], ['r', toggleCollapsed], ['t', toggleTable]]);

function reset() {
	const isStep = target !== root;

	at = null;
	closeField();
	zoom(root);
	keepState(isStep);
}

function onKey(event) {
	const special = event.ctrlKey || event.metaKey || event.altKey;

	if (event.key === '/' && !special || event.key === 'f' && (event.ctrlKey || event.metaKey))
		askForTerm();
	else if (special)
		return;
	else if (event.key === 'Escape')
		reset();
	else if (event.key === 'Enter' && at)
		zoomByHand(at);
	else if (moves[event.key])
		moveTo(at ? moves[event.key](at) : target);
	else if (views.has(event.key))
		views.get(event.key)();
	else
		return;
	event.preventDefault();
}

function prepareControl(control, act) {
	set(control, {tabindex: 0, role: 'button'});
	control.addEventListener('click', act);
	control.addEventListener('keydown', (event) => {
		if (event.key !== 'Enter' && event.key !== ' ')
			return;
		event.preventDefault();
		event.stopPropagation();
		act();
	});
}

function prepareFrames() {
	set(layer, {tabindex: 0, role: 'application', 'aria-label': `${headingText}. ${HINT}`});
	layer.addEventListener('click', (event) => {
		at = null;
		zoomByHand(event.target.frame || target);
		show(event.target.frame);
	});
	layer.addEventListener('mouseover', (event) => show(event.target.frame || at));
	layer.addEventListener('mouseleave', () => show(at));
	layer.addEventListener('focus', () => layer.matches(':focus-visible') && moveTo(at || target));
}

/* The tab of a picture that is the document has its heading. */
function nameTab() {
	const title = document.createElementNS(svg.namespaceURI, 'title');

	title.textContent = headingText;
	svg.prepend(title);
}

function start() {
	let pending = 0;

	svg.removeAttribute('viewBox');
	svg.setAttribute('width', '100%');
	searchControl.setAttribute('display', 'inline');
	set(details, {role: 'status'});
	set(matchedText, {role: 'status'});
	if (svg === document.documentElement)
		nameTab();
	prepareOver();
	prepareField();
	prepareViews();
	prepareFrames();
	prepareControl(unzoomControl, () => zoomByHand(root));
	prepareControl(searchControl, () => isFieldOpen() ? resetSearch() : askForTerm());
	layOut();
	restoreState();
	(alone ? window : svg).addEventListener('keydown', onKey);
	addEventListener('scroll', stick);
	for (const sign of alone ? SIGNS : [])
		addEventListener(sign, unfold, true);
	addEventListener('popstate', restoreState);
	addEventListener('resize', () => {
		cancelAnimationFrame(pending);
		pending = requestAnimationFrame(() => {
			layOut();
			draw();
			fitNames();
		});
	});
}
