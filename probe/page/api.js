/* What the page asks the daemon for. A token is kept while the tab is open, and sent to our own origin alone. */
import {say} from './words.js';

const KEY = 'stackprobe-token', ROLES = ['metrics', 'own', 'read', 'profile', 'admin'];

export let host = null; /* host.json: who we are there, and what there is */

export const may = (role) => host && ROLES.indexOf(host.role) >= ROLES.indexOf(role);

export function useToken(text) {
	sessionStorage.setItem(KEY, text);
}

/* Reads `host`. A token that isn't known is told, and forgotten. */
export async function meetHost() {
	try {
		host = await getJson('/ui/host.json');
	} catch (error) {
		if (error.status !== 401)
			throw error;
		useToken('');
		host = await getJson('/ui/host.json');
		say(error.message, true);
	}
}

/* A probe's name in the page is `PROBE`, or `PROBE~VIEW` of another view, or `PROBE~VIEW~AGE` of what is held that long (s).
 * Returns the first two, by the names they have in a query. */
export function partsOf(name) {
	const [probe, view] = name.split('~');

	return {probe, view};
}

export const pause = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

/* Returns a query, of the values that are there. */
export const query = (values) => new URLSearchParams(Object.entries(values).filter(([, value]) => value));

/* Asks; an error has the daemon's own sentence, and the status. */
async function ask(path, {signal, isSecond, ...options} = {}) {
	const token = sessionStorage.getItem(KEY), headers = token ? {Authorization: `Bearer ${token}`} : {};
	const answer = await fetch(path, {...options, headers, signal});

	if (answer.ok)
		return answer;
	if (answer.status === 429 && !isSecond) { /* what was given up a moment ago may still count */
		await pause(1.5);
		return ask(path, {signal, isSecond: true, ...options});
	}
	const {message, detail} = await answer.json().catch(() => ({message: answer.statusText}));

	throw Object.assign(new Error([...new Set([message, detail])].filter(Boolean).join(': ')), {status: answer.status});
}

export const getJson = async (path, options) => (await ask(path, options)).json();

export const getText = async (path) => (await ask(path)).text();

export const getBytes = async (path, options) => (await ask(path, options)).arrayBuffer();

export const put = async (path, body) => (await ask(path, {method: 'PUT', body: `json=${encodeURIComponent(JSON.stringify(body))}`})).json();

/* Calls line(object) for each line of JSON of an answer that goes on, until it ends or is given up. */
export async function follow(path, line, options) {
	const reader = (await ask(path, options)).body.pipeThrough(new TextDecoderStream()).getReader();
	let rest = '';

	for (;;) {
		const {value, done} = await reader.read();

		if (done)
			return;
		const lines = (rest + value).split('\n');

		rest = lines.pop();
		lines.filter(Boolean).forEach((text) => line(JSON.parse(text)));
	}
}
