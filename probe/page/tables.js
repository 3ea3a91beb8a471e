/* A profile as tables and as a tree of elements: what a screen reader reads, and what sorts. */
import {amount, error, fill, get, goneWords, make, named, nameButton, number, onKeys, percent, redraw, rove, sortable} from './words.js';
import {openFunction, zoom} from './panel.js';

const SHOWN = 1000; /* rows of a table; the rest is told as a number */

/* --- functions --- */

const KEYS = ['self', 'total', 'name'];

let by = 'self', listed = null;

export function showFunctions(profile, matches) {
	listed = {profile, matches, all: profile.table()};
	redraw(drawFunctions);
}

function drawFunctions() {
	const {profile: {frames, meta, weight}, matches, all} = listed;
	const name = (row) => frames.functions.labels[row.function];
	const rows = all.filter((row) => !matches || matches[row.function]).sort((a, b) => by === 'name'
		? (name(a) < name(b) ? -1 : 1) : b[by] - a[by] || b.total - a.total);
	const cell = (value) => [`${percent(value, weight)}${error(value, weight, meta)}`, make('small', {}, ` ${amount(value, meta.unit)}`)];

	fill(get('#functions table'), `Functions of ${meta.title}`,
		['Self', 'Total', 'Function'].map((title, i) => sortable(title, KEYS[i], i < 2 ? 'value' : 'text', by, i > 1, sort)),
		rows.slice(0, SHOWN).map((row) => [cell(row.self), cell(row.total), [nameButton(name(row), () => openFunction(row.function), {'data-function': row.function})]]));
	get('#functions p').textContent = rows.length > SHOWN ? `${number(rows.length - SHOWN)} more functions: search for them.` : '';
}

function sort(key) {
	by = key;
	redraw(drawFunctions);
}

/* --- the tree: it opens node by node; the arrow keys move, Enter zooms --- */

const tree = get('#tree');
let shown = null;

/* Shows the tree anew from a node on; but not for an `isUpdate` while somebody reads in it. */
export function showTree(profile, top, isUpdate) {
	const isRead = tree.contains(document.activeElement);

	if (isRead && isUpdate)
		return;
	shown = profile;
	tree.ariaLabel = `Frames of ${profile.meta.title}`;
	tree.replaceChildren(itemOf(top, 1));
	tree.firstChild.tabIndex = 0;
	for (let at = tree.firstChild; at;) { /* as long as a node has one child alone, or nearly all of its weight in one */
		open(at);
		const first = at.group?.firstChild;

		at = first && shown.total[first.node] >= 0.9 * shown.total[at.node] ? first : null;
	}
	if (isRead)
		tree.firstChild.focus();
}

function itemOf(node, level) {
	const {meta, total, self, weight} = shown;
	const item = make('li', {tabIndex: -1, role: 'treeitem', ariaLevel: level},
		make('span', {className: 'row'}, make('span', {className: 'value'}, `${percent(total[node], weight)} `), named(shown.label(node)),
			make('small', {}, ` ${goneWords(shown, node) || `${amount(total[node], meta.unit)}, self ${amount(self[node], meta.unit)}`}`)));

	item.node = node;
	if (shown.end[node] > node + 1)
		item.ariaExpanded = 'false';
	return item;
}

function open(item) {
	if (item.ariaExpanded !== 'false')
		return;
	const children = shown.children(item.node).sort((a, b) => shown.wide[b] - shown.wide[a]);

	item.ariaExpanded = 'true';
	item.group = make('ul', {role: 'group'}, ...children.slice(0, SHOWN).map((node) => itemOf(node, Number(item.ariaLevel) + 1)));
	if (children.length > SHOWN)
		item.group.append(make('li', {role: 'none'}, `${children.length - SHOWN} more`));
	item.append(item.group);
}

function close(item) {
	item.group.remove();
	item.group = null;
	item.ariaExpanded = 'false';
}

/* Returns {profile, node} of the element that has the focus, or had it last. */
export const chosenInTree = () => ({profile: shown, node: tree.querySelector('[tabindex="0"]')?.node ?? 0});

tree.onclick = (event) => {
	const item = itemAt(event);

	if (!item)
		return;
	if (item.group)
		close(item);
	else
		open(item);
	rove(tree, item);
};

const itemAt = ({target}) => target.closest('[role=treeitem]');
const move = (event, by) => {
	const all = [...tree.querySelectorAll('[role=treeitem]')];

	rove(tree, all[all.indexOf(itemAt(event)) + by]);
};

onKeys(tree, {
	ArrowDown: (event) => move(event, 1),
	ArrowUp: (event) => move(event, -1),
	ArrowRight: (event) => itemAt(event).group ? move(event, 1) : open(itemAt(event)),
	ArrowLeft: (event) => itemAt(event).group ? close(itemAt(event)) : rove(tree, itemAt(event).parentNode.closest('[role=treeitem]')),
	Enter: (event) => zoom(shown.names(itemAt(event).node)),
});
