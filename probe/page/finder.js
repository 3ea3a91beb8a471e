/* Search in the profile that is shown: by a regular expression, its matches one after the other, their share. */
import {Searching} from './searching.js';
import {amount, percent} from './words.js';

export class Finder {
	/* `panel` shows the profile; `field` has the expression, `line` tells what it matches. */
	constructor(panel, field, line) {
		Object.assign(this, {panel, field, line, matches: null, problem: ''});
		this.searching = new Searching();
		field.addEventListener('input', () => this.search(field.value));
		field.addEventListener('keydown', (event) => {
			if (event.key === 'Enter')
				this.next(event.shiftKey ? -1 : 1);
			else if (event.key === 'Escape')
				this.clear();
			else
				return;
			event.preventDefault();
			event.stopPropagation();
		});
	}

	/* Forgets matches of other functions than those of `frames`. */
	meet(frames) {
		if (this.frames !== frames)
			Object.assign(this, {frames, matches: null});
	}

	async search(pattern) {
		const {panel, field} = this, {shown} = panel;

		panel.view.q = pattern;
		panel.changed();
		if (field.value !== pattern)
			field.value = pattern;
		if (!shown)
			return;
		if (!pattern)
			this.searching.end(null);
		const {frames} = shown, result = pattern
			? await this.searching.find(frames.labels, pattern) : {matches: null};

		if (!result || panel.shown !== shown || panel.view.q !== pattern)
			return;
		const before = this.matches;

		field.setAttribute('aria-invalid', String(Boolean(result.error)));
		this.matches = result.error ? null : result.matches;
		this.problem = result.error || '';
		this.tell();
		if (panel.view.tab !== 'tree' && (before || this.matches))
			panel.openTab(panel.view.tab);
	}

	/* Says how much the matching stacks weigh, each once: of all, and of what is shown. */
	tell() {
		const {panel: {shown, zoomed}, matches, line} = this;

		line.textContent = this.problem;
		if (!matches)
			return;
		const all = shown.matched(matches), here = shown.matched(matches, zoomed);

		line.textContent = `matched ${percent(all, shown.weight)} (${amount(all, shown.meta.unit)})`
			+ (zoomed ? `, of what is shown ${percent(here, shown.total[zoomed])}` : '');
	}

	clear() {
		this.search('');
		this.panel.section.querySelector('[role=tab][aria-selected=true]').focus();
	}

	/* Goes to the next frame that matches, and zooms out if it isn't in sight. */
	next(step) {
		const {panel, matches} = this, {shown, graph} = panel;

		if (!matches?.includes(1))
			return;
		panel.openTab('graph');
		let node = Math.max(graph.cursor, 0);

		for (let i = 0; i < shown.count; i++) {
			node = (node + step + shown.count) % shown.count;
			if (node && matches[shown.functionOf(node)])
				break;
		}
		if (!(graph.boxOf(node)?.width >= 1))
			panel.zoom(shown.names(shown.parent[node]), shown.parent[node]);
		graph.moveTo(node);
		panel.tell(graph, node, true);
	}
}
