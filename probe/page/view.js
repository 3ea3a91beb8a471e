/* What the user looks at, as the part of the address behind `#`: a link has the whole view, by names. */
const DEFAULTS = {
	probe: '', pids: '', of: '', source: '', seconds: '10', tab: 'graph', zoom: [], q: '', steps: [], colour: 'kind',
	icicle: '', function: '', from: '', until: '', against: '', rival: '', group: '', thread: '',
};

export const view = {};

/* Reads the address; what it doesn't have is as by default. */
export function readView() {
	Object.assign(view, DEFAULTS);
	for (const part of location.hash.slice(1).split('&')) {
		const [key, text = ''] = part.split('=');

		try {
			if (Array.isArray(view[key]))
				view[key] = text ? text.split(';').map(decodeURIComponent) : [];
			else if (key in view)
				view[key] = decodeURIComponent(text);
		} catch { /* no such text can be decoded */ }
	}
	view.steps = view.steps.filter((step) => /^(hide|only|without|collapse|recursion):/.test(step));
}

/* A step of the view, `op:label`, as what it does. */
export function stepOf(step) {
	const [op, ...label] = step.split(':');

	return {op, label: label.join(':')};
}

/* Writes the address. */
export function keep() {
	const parts = Object.keys(DEFAULTS).filter((key) => String(view[key]) !== String(DEFAULTS[key]))
		.map((key) => `${key}=${[view[key]].flat().map(encodeURIComponent).join(';')}`);

	const fragment = parts.length ? `#${parts.join('&')}` : '';

	if (fragment !== location.hash)
		history.replaceState(null, '', fragment || location.pathname);
}

readView();
