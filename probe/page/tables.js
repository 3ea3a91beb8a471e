/* A profile as tables and as a tree of elements: what a screen reader reads, and what sorts. */
import {amount, error, make, named, percent} from './words.js';

const SHOWN = 1000; /* rows of a table; the rest is told as a number */

/* Shows the functions of a profile with their own and their whole weight. */
export class FunctionTable {
	constructor(element, {onChoose}) {
		Object.assign(this, {element, onChoose, by: 'self'});
		element.addEventListener('click', (event) => {
			const sort = event.target.closest('[data-by]'), choose = event.target.closest('[data-function]');

			if (sort) {
				this.by = sort.dataset.by;
				this.draw();
			} else if (choose) {
				this.onChoose(Number(choose.dataset.function));
			}
		});
	}

	show(profile, matches) {
		Object.assign(this, {profile, matches, rows: profile.table()});
		this.draw();
	}

	draw() {
		const {profile, matches, by} = this, {frames, meta, weight} = profile;
		const name = (row) => frames.labels[row.function], focused = document.activeElement?.dataset ?? {};
		const rows = this.rows.filter((row) => !matches || matches[row.function]).sort((a, b) => by === 'name'
			? (name(a) < name(b) ? -1 : 1) : b[by] - a[by] || b.total - a.total);
		const head = [['self', 'Self'], ['total', 'Total'], ['name', 'Function']].map(([key, title]) => make('th', {
			scope: 'col', 'aria-sort': key !== by ? 'none' : key === 'name' ? 'ascending' : 'descending',
		}, make('button', {type: 'button', className: 'sort', 'data-by': key}, title)));
		const cell = (value) => make('td', {className: 'value'},
			`${percent(value, weight)}${error(value, weight, meta)}`, make('small', {}, ` ${amount(value, meta.unit)}`));
		const body = rows.slice(0, SHOWN).map((row) => make('tr', {}, cell(row.self), cell(row.total),
			make('td', {className: 'text'}, make('button', {type: 'button', className: 'name', 'data-function': row.function},
				named(name(row))))));

		this.element.replaceChildren(make('table', {},
			make('caption', {}, `Functions of ${meta.title}`), make('thead', {}, make('tr', {}, ...head)),
			make('tbody', {}, ...body)));
		const again = focused.by ? `[data-by=${focused.by}]` : focused.function ? `[data-function="${focused.function}"]` : '';

		if (again)
			this.element.querySelector(again)?.focus({preventScroll: true});
		if (rows.length > SHOWN)
			this.element.append(make('p', {}, `${rows.length - SHOWN} more functions: search for them.`));
	}
}

/* Shows a profile as a tree that opens node by node: the arrow keys move, Enter zooms. */
export class Tree {
	constructor(element, {onChoose}) {
		Object.assign(this, {element, onChoose});
		element.setAttribute('role', 'tree');
		element.addEventListener('keydown', (event) => this.key(event));
		element.addEventListener('click', (event) => {
			const item = event.target.closest('[role=treeitem]');

			if (item) {
				this.toggle(item);
				this.focus(item);
			}
		});
	}

	show(profile, top) {
		this.profile = profile;
		this.element.setAttribute('aria-label', `Frames of ${profile.meta.title}`);
		this.element.replaceChildren(this.item(top, 1));
		this.element.firstChild.tabIndex = 0;
		this.openWhile(this.element.firstChild);
	}

	/* Opens nodes as long as each has one child alone, or nearly all of its weight in one. */
	openWhile(item) {
		for (let at = item; at;) {
			this.open(at);
			const {node, group} = at, [first] = group?.children || [];

			at = first && this.profile.total[first.node] >= 0.9 * this.profile.total[node] ? first : null;
		}
	}

	item(node, level) {
		const {profile} = this, {meta} = profile, total = profile.total[node];
		const name = node ? named(profile.label(node)) : 'all';
		const item = make('li', {tabIndex: -1, role: 'treeitem', 'aria-level': level},
			make('span', {className: 'row'}, make('span', {className: 'value'},
				`${percent(total, profile.weight)} `), name,
			make('small', {}, ` ${amount(total, meta.unit)}, self ${amount(profile.self[node], meta.unit)}`)));

		item.node = node;
		if (profile.end[node] > node + 1)
			item.setAttribute('aria-expanded', 'false');
		return item;
	}

	open(item) {
		const level = Number(item.getAttribute('aria-level'));

		if (item.getAttribute('aria-expanded') !== 'false')
			return;
		item.setAttribute('aria-expanded', 'true');
		const children = this.profile.children(item.node).sort((a, b) => this.profile.total[b] - this.profile.total[a]);

		item.group = make('ul', {role: 'group'}, ...children.slice(0, SHOWN).map((node) => this.item(node, level + 1)));
		if (children.length > SHOWN)
			item.group.append(make('li', {role: 'none'}, `${children.length - SHOWN} more`));
		item.append(item.group);
	}

	close(item) {
		item.group?.remove();
		item.group = null;
		item.setAttribute('aria-expanded', 'false');
	}

	toggle(item) {
		if (item.getAttribute('aria-expanded') === 'true')
			this.close(item);
		else
			this.open(item);
	}

	/* {profile, node} of the element that has the focus, or had it last. */
	get chosen() {
		return {profile: this.profile, node: this.element.querySelector('[tabindex="0"]')?.node ?? 0};
	}

	focus(item) {
		this.element.querySelectorAll('[tabindex="0"]').forEach((other) => { other.tabIndex = -1; });
		item.tabIndex = 0;
		item.focus();
	}

	key(event) {
		const item = event.target.closest('[role=treeitem]'), isOpen = item?.getAttribute('aria-expanded');
		const all = Array.from(this.element.querySelectorAll('[role=treeitem]')), at = all.indexOf(item);
		const parent = item?.parentNode.closest('[role=treeitem]');
		let to = null;

		switch (event.key) {
		case 'ArrowDown':
			to = all[at + 1];
			break;
		case 'ArrowUp':
			to = all[at - 1];
			break;
		case 'ArrowRight':
			if (isOpen === 'false')
				this.open(item);
			else
				to = item.group?.firstChild;
			break;
		case 'ArrowLeft':
			if (isOpen === 'true')
				this.close(item);
			else
				to = parent;
			break;
		case 'Enter':
			this.onChoose(this.profile, item.node);
			break;
		default:
			return;
		}
		if (to)
			this.focus(to);
		event.preventDefault();
		event.stopPropagation();
	}
}
