/* Search in the profile that is shown: by a regular expression, its matches one after the other, their share. */
import {graph, openTab, shown, tell, zoom, zoomed} from './panel.js';
import {keep, view} from './view.js';
import {amount, get, onKeys, percent} from './words.js';

const LIMIT_MS = 1500; /* with the worker's own start: an expression may take years */
const policy = window.trustedTypes?.createPolicy('stackprobe', {createScriptURL: () => '/ui/search.js'});
const field = get('[name=search]');

let frames, worker = null, timer, done = null, known, count;

export let matches = null; /* a byte for each function; null: nothing is searched */

export async function search(pattern) {
	const profile = shown, before = matches;

	view.q = pattern;
	keep();
	if (field.value !== pattern)
		field.value = pattern;
	if (!pattern)
		endSearch(null);
	if (!profile)
		return;
	if (frames !== profile.frames) /* of other functions */
		[frames, matches] = [profile.frames, null];
	const result = pattern ? await find(frames.functions.labels, pattern) : {};

	if (!result || shown !== profile || view.q !== pattern)
		return;
	field.ariaInvalid = String('error' in result);
	matches = result.matches ?? null;
	tellMatches(result.error);
	if (view.tab !== 'tree' && (before || matches))
		openTab(view.tab);
}

/* Says how much the matching stacks weigh, each once: of all, and of what is shown. */
export function tellMatches(problem = '') {
	const all = matches && shown.matched(matches);

	get('.matched').textContent = !matches ? problem : `matched ${percent(all, shown.weight)} (${amount(all, shown.meta.unit)})`
		+ (zoomed ? `, of what is shown ${percent(shown.matched(matches, zoomed), shown.total[zoomed])}` : '');
}

/* Goes to the next frame that matches, and zooms out if it isn't in sight. */
export function next(step) {
	if (!matches?.includes(1))
		return;
	openTab('graph');
	let node = Math.max(graph.cursor, zoomed);

	for (let i = 0; i < shown.count; i++) {
		node = (node + step + shown.count) % shown.count;
		if (node && matches[shown.functionOf(node)])
			break;
	}
	if (node < zoomed || node >= shown.end[zoomed] || graph.width * shown.wide[node] < shown.wide[zoomed])
		zoom(shown.names(shown.parent[node]), shown.parent[node]);
	graph.moveTo(node);
	tell(graph, true);
}

field.oninput = () => search(field.value);
onKeys(field, {
	Enter: (event) => next(event.shiftKey ? -1 : 1),
	Escape: () => {
		search('');
		get('[name=tab]:checked').focus();
	},
});

/* --- the worker --- */

/* Returns {matches}, a byte for each name, or {error}; null: a later search came between. */
function find(names, pattern) {
	endSearch(null);
	return new Promise((resolve) => {
		if (!worker) {
			worker = new Worker(policy ? policy.createScriptURL('') : '/ui/search.js');
			worker.onerror = () => endSearch({error: 'the search did not begin'});
			worker.onmessage = ({data}) => finish(data);
			known = null;
		}
		done = resolve;
		timer = setTimeout(() => endSearch({error: `the expression took more than ${LIMIT_MS} ms`}), LIMIT_MS);
		worker.postMessage({pattern, flags: pattern === pattern.toLowerCase() ? 'i' : '',
			names: known === names && count === names.length ? null : names});
		[known, count] = [names, names.length];
	});
}

function finish(result) {
	clearTimeout(timer);
	done?.(result);
	done = null;
}

/* Ends what is under way: the worker may be stuck in it. */
function endSearch(result) {
	if (!done)
		return;
	worker.terminate();
	worker = null;
	finish(result);
}
