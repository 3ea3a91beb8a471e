/*
 * Search by a regular expression, in a field of the picture's own (a prompt() is blocked where a
 * picture is embedded), and the state in the address: #zoom=…&search=…&icicle=…&collapse=1&table=…,
 * which can be linked to and gone back from.
 */
const FIELD_WIDTH = 190;

const searchControl = part('search'), matchedText = part('matched');
const box = create('foreignObject'), field = create('input', XHTML);
let pattern = null;
let pendingSearch = 0;

const isFieldOpen = () => box.getAttribute('display') !== 'none';
const percent = (value, of) => (of ? 100 * value / of : 0).toFixed(2) + '%';

/* Weight of the stacks through `f` that have a match; a match within a match counts once. */
function matchedWeight(f) {
	const open = [f];
	let sum = 0;

	for (let up = f; up; up = up.parent) {
		if (up.isMatch)
			return f.value;
	}
	while (open.length) {
		for (const child of open.pop().children) {
			if (child.isMatch)
				sum += child.value;
			else
				open.push(child);
		}
	}
	return sum;
}

function showMatched() {
	if (pattern)
		matchedText.textContent = 'Matched: ' + percent(matchedWeight(root), root.value) +
			(target === root ? '' : ' of all, ' +
				`${percent(matchedWeight(target), target.value)} of this view`);
}

const WHOLE_NAME = /^\^(\\.|[^\\^$.*+?()[\]{}|/])*\$$/; /* searchFor() makes them */

/* Without a capital letter in the pattern, case doesn't matter, unless it is a whole name. null: no
 * pattern. */
function compile(term) {
	try {
		return new RegExp(term,
			WHOLE_NAME.test(term) || /[A-Z]/.test(term.replace(/\\./g, '')) ? '' : 'i');
	} catch {
		return null;
	}
}

function search(term) {
	const known = new Map();

	pattern = term ? compile(term) : null;
	for (const f of frames) {
		if (pattern && !known.has(f.name))
			known.set(f.name, pattern.test(f.name));
		const isMatch = pattern !== null && known.get(f.name);

		if (isMatch !== f.isMatch) {
			f.isMatch = isMatch;
			f.path.classList.toggle('match', isMatch);
		}
	}
	field.setAttribute('aria-invalid', term !== '' && !pattern);
	matchedText.textContent = term && !pattern ? 'Not a regular expression' : '';
	showMatched();
	drawLabels();
	markRows();
	show(at);
}

function openField() {
	box.setAttribute('display', 'inline');
	searchControl.textContent = 'Reset Search';
	arrange();
}

function askForTerm() {
	openField();
	field.focus();
	field.select();
}

function closeField() {
	if (!isFieldOpen())
		return;
	cancelAnimationFrame(pendingSearch);
	box.setAttribute('display', 'none');
	searchControl.textContent = 'Search';
	field.value = '';
	field.blur();
	search('');
	arrange();
}

function resetSearch() {
	closeField();
	keepState(false);
}

function onFieldInput() {
	cancelAnimationFrame(pendingSearch);
	pendingSearch = requestAnimationFrame(() => {
		search(field.value);
		keepState(false);
	});
}

function onFieldKey(event) {
	event.stopPropagation();
	if (event.isComposing || !['Escape', 'Enter'].includes(event.key))
		return;
	event.preventDefault();
	if (event.key === 'Enter')
		layer.focus();
	else
		resetSearch();
}

function prepareField() {
	set(box, {x: 0, y: 7, height: 24, width: FIELD_WIDTH, display: 'none'});
	set(field, {class: 'field', placeholder: 'Regular expression', spellcheck: 'false',
		autocomplete: 'off', 'aria-label': 'Search for a function by a regular expression'});
	field.addEventListener('input', onFieldInput);
	field.addEventListener('keydown', onFieldKey);
	field.addEventListener('blur', () => field.value || closeField());
	box.append(field);
	head.append(box);
}

/* --- the address --- */

/* FNV-1a of the names from the root on: it finds the frame in a later picture, too. */
function fingerprint(f) {
	const open = [];
	let known = f;

	for (; known && known.print === undefined; known = known.parent)
		open.push(known);
	let hash = known ? known.print : 2166136261;

	for (const next of open.reverse()) {
		for (const letter of next.name + '\n')
			hash = Math.imul(hash ^ letter.codePointAt(0), 16777619) >>> 0;
		next.print = hash;
	}
	return hash;
}

/* A step can be gone back from; what is no step changes the address of the last one. */
function keepState(isStep) {
	const state = new URLSearchParams();

	if (!alone)
		return; /* the address is another document's */
	if (target !== root)
		state.set('zoom', fingerprint(target).toString(16));
	if (field.value)
		state.set('search', field.value);
	if (icicle !== isDrawnIcicle)
		state.set('icicle', icicle ? 1 : 0);
	if (isCollapsed)
		state.set('collapse', 1);
	if (tableBy)
		state.set('table', tableBy);
	try {
		history[isStep ? 'pushState' : 'replaceState'](null, '', '#' + state);
	} catch {
		/* not allowed here; nothing else depends on it */
	}
}

function restoreState() {
	const state = new URLSearchParams(alone ? location.hash.slice(1) : '');
	const print = parseInt(state.get('zoom'), 16), term = state.get('search') || '';

	setIcicle(state.has('icicle') ? state.get('icicle') === '1' : isDrawnIcicle);
	setCollapsed(state.get('collapse') === '1');
	setTable(COLUMNS.some(([by]) => by === state.get('table')) ? state.get('table') : '');
	layOut();
	zoom(print && frames.find((f) => fingerprint(f) === print) || root);
	if (term === field.value)
		return;
	if (!term)
		return closeField();
	field.value = term;
	openField();
	search(term);
}
