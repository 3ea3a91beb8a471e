/* What the user looks at, as the part of the address behind `#`: a link has the whole view, by names. */
const LISTS = {zoom: ';', steps: ';'};

export const DEFAULTS = {
	probe: '', pids: '', of: '', source: '', seconds: '10', tab: 'graph', zoom: [], q: '', steps: [], colour: 'kind',
	icicle: '', function: '', from: '', until: '', against: '', rival: '', group: '',
};

/* Returns the view of a fragment; what it doesn't have is as by default. */
export function readView(fragment) {
	const view = structuredClone(DEFAULTS);

	for (const part of fragment.replace(/^#/, '').split('&')) {
		const [key, ...rest] = part.split('='), text = rest.join('=');

		try {
			if (key in LISTS)
				view[key] = text ? text.split(LISTS[key]).map(decodeURIComponent) : [];
			else if (key in view)
				view[key] = decodeURIComponent(text);
		} catch { /* no such text can be decoded */ }
	}
	view.steps = view.steps.map((step) => ({op: step.slice(0, step.indexOf(':')), label: step.slice(step.indexOf(':') + 1)}))
		.filter((step) => ['hide', 'only', 'without', 'collapse', 'recursion'].includes(step.op));
	return view;
}

export function writeView(view) {
	const values = {...view, steps: view.steps.map(({op, label}) => `${op}:${label}`)};

	return '#' + Object.keys(DEFAULTS).filter((key) => String(values[key]) !== String(DEFAULTS[key]))
		.map((key) => `${key}=${key in LISTS ? values[key].map(encodeURIComponent).join(LISTS[key])
			: encodeURIComponent(values[key])}`).join('&');
}
