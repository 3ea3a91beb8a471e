/* The profile that is shown: its picture, its tables, what is done to it. */
import {applySteps, sandwich} from './builder.js';
import {Colours, WAYS} from './colours.js';
import {folded, kindOf, pprof, speedscope, stackText, svg} from './exports.js';
import {Graph} from './graph.js';
import {Finder} from './finder.js';
import {FunctionTable, Tree} from './tables.js';
import {amount, clock, error, make, named, number, percent, visible} from './words.js';

const STEP_WORDS = {hide: 'hide', only: 'only', without: 'without', collapse: 'collapse', recursion: 'direct recursion as one'};
const EXPORTS = {
	svg: ['image/svg+xml', (panel) => svg(panel.shown, {zoomed: panel.zoomed, icicle: panel.view.icicle === '1',
		colours: panel.colours, heading: panel.heading()})],
	folded: ['text/plain', (panel) => folded(panel.shown)],
	'pb.gz': ['application/octet-stream', (panel) => pprof(panel.shown)],
	'speedscope.json': ['application/json', (panel) => speedscope(panel.shown)],
};

export class Panel {
	/* `view` is the view's part that is kept in the address; changed() keeps it. */
	constructor(section, {view, changed, say}) {
		Object.assign(this, {section, view, changed, say, whole: null, shown: null, matches: null});
		this.colours = new Colours(section);
		const part = (name) => section.querySelector(name);
		const graph = (element, onZoom) => new Graph(element, {
			colours: this.colours, onZoom, onHover: (node) => this.tell(this.graphOf(element), node),
			onMenu: (node, x, y) => this.openMenu(this.graphOf(element), node, x, y),
		});

		this.parts = {title: part('h2'), facts: part('.facts'), steps: part('.steps'), line: part('.line'),
			menu: part('.menu')};
		this.finder = new Finder(this, part('[name=search]'), part('.matched'));
		this.graph = graph(part('#graph'), (node) => this.zoom(this.shown.names(node), node));
		this.callers = graph(part('#callers'), (node) => this.chooseFunction(this.callers.profile, node));
		this.callees = graph(part('#callees'), (node) => this.chooseFunction(this.callees.profile, node));
		this.callees.icicle = this.callers.isInverted = true;
		this.functions = new FunctionTable(part('#functions'), {onChoose: (f) => this.openFunction(f)});
		this.tree = new Tree(part('#tree'), {onChoose: (profile, node) => this.zoom(profile.names(node))});
		part('[name=colour]').append(...Object.entries(WAYS).map(([value, text]) => make('option', {value}, text)));
		part('.export').append(...Object.keys(EXPORTS).map((name) => make('button', {type: 'button', 'data-export': name},
			name)));
		this.listen();
	}

	graphOf(element) {
		return {graph: this.graph, callers: this.callers, callees: this.callees}[element.id];
	}

	listen() {
		const {section, parts} = this;

		section.addEventListener('click', (event) => this.click(event.target.closest('button')));
		section.querySelector('[name=colour]').addEventListener('change', (event) => {
			this.view.colour = event.target.value;
			this.refresh();
		});
		document.addEventListener('pointerdown', (event) => {
			if (!parts.menu.contains(event.target))
				this.closeMenu();
		});
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
			this.colours.read();
			this.refresh();
		});
	}

	click(button) {
		const {dataset} = button || {};

		if (!dataset)
			return;
		if (dataset.tab)
			this.openTab(dataset.tab);
		else if (dataset.export)
			this.save(dataset.export);
		else if (dataset.do)
			this.act(dataset.do);
		else if (dataset.step)
			this.dropStep(Number(dataset.step));
	}

	/* --- what is shown --- */

	/* Shows another profile; the view stays: zoom, cursor, search and steps are kept by names. */
	show(profile) {
		this.whole = profile;
		this.section.hidden = false;
		this.isUpdate = true;
		this.apply();
		this.isUpdate = false;
	}

	/* Shows the profile again, with the steps of the view. */
	apply() {
		if (!this.whole)
			return;
		this.shown = applySteps(this.whole, this.view.steps);
		this.finder.meet(this.shown.frames);
		this.zoomed = this.shown.follow(this.view.zoom);
		this.refresh();
		this.finder.search(this.view.q);
	}

	refresh() {
		const {view, shown, section} = this;

		if (!shown)
			return;
		this.colours.way = view.colour in WAYS ? view.colour : 'kind';
		section.querySelector('[name=colour]').value = this.colours.way;
		this.drawFacts();
		this.drawSteps();
		this.openTab(view.tab);
	}

	drawFacts() {
		const {meta, weight} = this.shown, {parts} = this, seconds = meta.seconds ?? meta.covered ?? meta.until - meta.from;
		const facts = [amount(weight, meta.unit)];

		if (meta.until > meta.from)
			facts.push(`${clock(meta.from)} – ${clock(meta.until).slice(11)}`);
		if (meta.period_ns && seconds > 0 && meta.unit === 'samples')
			facts.push(`${number(weight * meta.period_ns / 1e9 / seconds)} CPUs on average`);
		if (meta.lost)
			facts.push(`${number(meta.lost)} samples lost`);
		if (meta.truncated)
			facts.push(`${percent(meta.truncated, this.whole.weight)} in stacks that don't reach their root`);
		if (meta.left_out)
			facts.push(`${number(meta.left_out)} events left out to keep the cost low, the others stand for them`);
		facts.push(`${number(this.shown.count - 1)} frames`);
		parts.title.replaceChildren(meta.title, ...(meta.of ? [' of ', named(meta.of)] : []));
		parts.facts.textContent = facts.join(' · ');
		if (!weight)
			parts.facts.textContent += ' · nothing was seen in that time';
	}

	drawSteps() {
		const drawn = JSON.stringify(this.view.steps);

		if (drawn === this.drawnSteps)
			return; /* a button keeps the focus */
		this.drawnSteps = drawn;
		this.parts.steps.replaceChildren(...this.view.steps.map(({op, label}, i) => make('button', {
			type: 'button', 'data-step': String(i), title: 'Take this back',
		}, `${STEP_WORDS[op]} `, label ? named(label.replace(/^;/, '')) : '', ' ×')));
	}

	openTab(tab) {
		const {section, shown, view} = this;

		view.tab = ['graph', 'functions', 'callers', 'tree'].includes(tab) ? tab : 'graph';
		section.querySelectorAll('[role=tab]').forEach((button) => {
			button.setAttribute('aria-selected', String(button.dataset.tab === view.tab));
			button.tabIndex = button.dataset.tab === view.tab ? 0 : -1;
		});
		section.querySelectorAll('[role=tabpanel]').forEach((element) => {
			element.hidden = element.dataset.panel !== view.tab;
		});
		this.changed();
		if (!shown)
			return;
		if (view.tab === 'graph')
			this.drawGraph();
		else if (view.tab === 'functions')
			this.functions.show(shown, this.finder.matches);
		else if (view.tab === 'callers')
			this.drawFunction();
		else
			this.drawTree();
	}

	/* Shows the tree anew, but not while somebody reads in it and another profile comes. */
	drawTree() {
		const {tree} = this, isRead = tree.element.contains(document.activeElement);

		if (isRead && this.isUpdate)
			return;
		tree.show(this.shown, this.zoomed);
		if (isRead)
			tree.focus(tree.element.firstChild);
	}

	drawGraph() {
		const {graph, shown, view} = this, drawn = `${view.icicle};${view.zoom.join(';')}`;

		graph.icicle = view.icicle === '1';
		graph.matches = this.finder.matches;
		if (graph.profile === shown && graph.zoomed === this.zoomed && this.drawn === drawn)
			graph.draw();
		else
			graph.show(shown, this.zoomed, this.drawn === drawn);
		this.drawn = drawn;
		this.tell(graph, graph.hovered);
	}

	drawFunction() {
		const {shown, view} = this, table = shown.table(), f = shown.frames.find(view.function);
		const chosen = f >= 0 ? f : table[0]?.function, element = this.section.querySelector('#function-name');

		this.section.querySelectorAll('.half').forEach((half) => { half.hidden = chosen === undefined; });
		if (chosen === undefined) {
			element.textContent = 'No function has any weight here.';
			return;
		}
		const {callers, callees} = sandwich(shown, chosen), row = table.find((r) => r.function === chosen);

		element.replaceChildren(named(shown.frames.labels[chosen]),
			` · total ${percent(row?.total ?? 0, shown.weight)}, self ${percent(row?.self ?? 0, shown.weight)}`
			+ ` · ${amount(row?.total ?? 0, shown.meta.unit)}`);
		for (const [graph, profile] of [[this.callers, callers], [this.callees, callees]]) {
			graph.matches = this.finder.matches;
			graph.show(profile, 1, this.drawnFunction === chosen);
		}
		this.drawnFunction = chosen;
	}

	/* --- a node --- */

	/* Zooms to the node with that path of names; of several with the same path to `node`. */
	zoom(names, node = this.shown.follow(names)) {
		this.view.zoom = names;
		this.zoomed = node;
		this.openTab(this.view.tab === 'tree' ? 'tree' : 'graph');
		this.finder.tell();
	}

	chooseFunction(profile, node) {
		if (node)
			this.openFunction(profile.functionOf(node));
	}

	openFunction(f) {
		if (f < 0)
			return;
		this.view.function = this.shown.frames.labelOf(f);
		this.openTab('callers');
	}

	/* Says what a frame is, in the line below the picture; `aloud`: a screen reader says it, too. */
	tell(graph, node, aloud = false) {
		const {parts} = this, at = node >= 0 ? node : graph.cursor, {profile} = graph;

		parts.line.setAttribute('aria-live', aloud ? 'polite' : 'off');
		if (!profile)
			return;
		const {meta, weight} = profile, total = profile.total[at], self = profile.self[at];
		const frame = profile.frame[at], file = at ? profile.frames.files[frame] : '', line = profile.frames.lines[frame];
		const words = [`${percent(total, weight)}${error(total, weight, meta)}`, amount(total, meta.unit)];

		if (self)
			words.push(`self ${percent(self, weight)}`);
		words.push(kindOf(profile, at));
		if (file)
			words.push(line ? `${file}:${line}` : file);
		if (at && profile.frames.modules[frame])
			words.push(profile.frames.modules[frame]);
		const change = at ? profile.frames.changeOf(frame) : 0;

		if (change)
			words.push(change > 0 ? 'more than before' : 'less than before');
		parts.line.replaceChildren(named(profile.label(at)), ` · ${visible(words.join(' · '))}`);
	}

	openMenu(graph, node, x, y) {
		const {menu} = this.parts;

		this.target = {graph, profile: graph.profile, node, isInverted: graph.isInverted};
		menu.hidden = false;
		menu.style.left = `${Math.max(0, Math.min(x, innerWidth - menu.offsetWidth))}px`;
		menu.style.top = `${Math.max(0, Math.min(y, innerHeight - menu.offsetHeight))}px`;
		menu.querySelector('button').focus();
	}

	/* --- what is done --- */

	closeMenu() {
		if (this.parts.menu.contains(document.activeElement))
			this.target?.graph?.top.focus({preventScroll: true});
		this.parts.menu.hidden = true;
		this.target = null;
	}

	/* Returns {profile, node} that a key or a button is about: of the menu, or of what is seen. */
	get chosen() {
		const {view, shown, tree} = this, focused = document.activeElement;

		if (this.target)
			return this.target;
		if (view.tab === 'tree')
			return tree.chosen;
		if (view.tab === 'functions' && focused.dataset.function)
			return {profile: shown, node: shown.outermost(Number(focused.dataset.function))[0] ?? 0};
		const graph = view.tab !== 'callers' ? this.graph
			: [this.callers, this.callees].find((one) => one.hovered > 0 || one.top === focused) || this.callees;

		return view.tab === 'functions' || !graph.profile ? {profile: shown, node: 0}
			: {profile: graph.profile, node: graph.hovered > 0 ? graph.hovered : graph.cursor, isInverted: graph.isInverted};
	}

	act(what) {
		if (!this.shown)
			return;
		const {chosen} = this, {profile, node} = chosen, label = node > 0 ? profile.frames.labelOf(profile.functionOf(node)) : '';

		this.closeMenu();
		switch (what) {
		case 'hide':
		case 'only':
		case 'without':
		case 'collapse':
			if (label)
				this.addStep(what, label);
			break;
		case 'recursion':
			this.addStep('recursion', '');
			break;
		case 'undo':
			this.dropStep(this.view.steps.length - 1);
			break;
		case 'callers':
			this.openFunction(node > 0 ? profile.functionOf(node) : -1);
			break;
		case 'copy':
			this.copy(stackText(chosen));
			break;
		case 'zoom':
			if (this.view.tab === 'callers')
				this.chooseFunction(profile, node);
			else
				this.zoom(profile.names(node), profile === this.shown ? node : undefined);
			break;
		case 'reset':
			this.zoom([]);
			break;
		case 'turn':
			this.view.icicle = this.view.icicle === '1' ? '' : '1';
			this.openTab('graph');
			break;
		default:
			this.finder.next(what === 'previous' ? -1 : 1);
		}
	}

	addStep(op, label) {
		this.view.steps = [...this.view.steps.filter((step) => step.op !== op || step.label !== label), {op, label}];
		this.apply();
	}

	dropStep(i) {
		if (i < 0)
			return;
		this.view.steps = this.view.steps.filter((_, at) => at !== i);
		this.apply();
	}

	/* Copies a text; pages that came without TLS from another host have no clipboard, so by a selection then. */
	async copy(text) {
		try {
			await navigator.clipboard.writeText(text);
		} catch {
			const area = make('textarea', {value: text, className: 'aside'});

			document.body.append(area);
			area.select();
			document.execCommand('copy');
			area.remove();
		}
		this.say('The stack is in the clipboard.');
	}

	heading() {
		const {title, of, host, from} = this.shown.meta;

		return `${title}${of ? ` of ${of}` : ''}, ${host || ''} ${from ? clock(from) : ''}`;
	}

	async save(name) {
		const [type, write] = EXPORTS[name], {meta} = this.shown, of = (meta.of || meta.host || 'profile').replace(/[^\w.-]+/g, '_');

		try {
			const url = URL.createObjectURL(new Blob(await write(this), {type}));

			make('a', {href: url, download: `${(meta.probe || 'profile').replace(/\W/g, '_')}-${of.slice(0, 64)}.${name}`}).click();
			setTimeout(() => URL.revokeObjectURL(url), 10000);
			this.say(`${name} is saved${name === 'pb.gz' ? ', without addresses, which a page does not know' : ''}.`);
		} catch (error) {
			this.say(`${name} can't be made: ${error.message}`, true);
		}
	}

	/* Moves the cursor of a picture: to the caller, a callee, a neighbour. */
	move(key, element) {
		const graph = this.graphOf(element.closest('.graph')), {profile, cursor: at} = graph, up = (key === 'ArrowUp') !== graph.icicle;
		let to = -1;

		if (!profile)
			return;
		if (key === 'ArrowUp' || key === 'ArrowDown') {
			to = !up ? profile.parent[at] : profile.children(at).reduce((best, child) =>
				best < 0 || profile.total[child] > profile.total[best] ? child : best, -1);
		} else if (at) {
			const siblings = profile.children(profile.parent[at]);

			to = siblings[siblings.indexOf(at) + (key === 'ArrowRight' ? 1 : -1)] ?? -1;
		}
		if (to >= 0) {
			graph.moveTo(to);
			this.tell(graph, to, true);
		}
	}
}
