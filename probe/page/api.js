/* What the page asks the daemon for. A token is kept while the tab is open, and sent to our own origin alone. */
const KEY = 'stackprobe-token';

export const token = {
	get: () => sessionStorage.getItem(KEY),
	set: (text) => text ? sessionStorage.setItem(KEY, text) : sessionStorage.removeItem(KEY),
};

/* An answer that is no success; `message` is the daemon's own sentence. */
export class Refused extends Error {
	constructor(status, message) {
		super(message);
		this.status = status;
	}
}

/* A probe's name in the page is `PROBE`, or `PROBE~VIEW` of another view, or `PROBE~VIEW~AGE` of what is held that long (s).
 * Returns these three. */
export function partsOf(probe) {
	const [name, view = '', age = ''] = probe.split('~');

	return {name: encodeURIComponent(name), view: view && `view=${encodeURIComponent(view)}`, age: age && `min_age=${encodeURIComponent(age)}`};
}

async function ask(path, {signal, isSecond, ...options} = {}) {
	const headers = token.get() ? {Authorization: `Bearer ${token.get()}`} : {};
	const answer = await fetch(path, {...options, headers, signal, credentials: 'same-origin', cache: 'no-store'});

	if (answer.ok)
		return answer;
	if (answer.status === 429 && !isSecond) { /* what was given up a moment ago may still count */
		await new Promise((done) => setTimeout(done, 1500));
		return ask(path, {signal, isSecond: true, ...options});
	}
	let message = answer.statusText;

	try {
		const body = await answer.json();

		message = [body.message, body.detail].filter((text, i, all) => text && all.indexOf(text) === i).join(': ');
	} catch { /* it has no sentence of the daemon's */ }
	throw new Refused(answer.status, message);
}

export async function getJson(path, options) {
	return (await ask(path, options)).json();
}

export async function getText(path) {
	return (await ask(path)).text();
}

export async function getBytes(path, options) {
	return (await ask(path, options)).arrayBuffer();
}

export async function put(path, body) {
	return (await ask(path, {method: 'PUT', body: `json=${encodeURIComponent(JSON.stringify(body))}`})).json();
}

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
		for (const text of lines) {
			if (text)
				line(JSON.parse(text));
		}
	}
}
