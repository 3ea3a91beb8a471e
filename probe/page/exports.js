/* A profile as files that other tools read, and as text to paste. */
import {KINDS} from './profile.js';
import {amount, foldedName, percent, visible} from './words.js';

/* Each returns parts of a file, as Blob takes them: one text may be too long for a browser. */

/* --- folded text --- */

export function folded(profile) {
	const names = profile.frames.names.map((_, frame) => foldedName(profile.frames.text(frame))), parts = [], at = [];
	let lines = [];

	for (let node = 1; node < profile.count; node++) {
		at.length = profile.depth[node] - 1;
		at.push(names[profile.frame[node]]);
		if (profile.self[node])
			lines.push(`${at.join(';')} ${profile.self[node]}\n`);
		if (lines.length === 10000 || node === profile.count - 1) {
			parts.push(lines.join(''));
			lines = [];
		}
	}
	return parts;
}

/* --- speedscope's JSON (its file-format-schema.json) --- */

export function speedscope(profile) {
	const {meta, frames, weight} = profile, parts = [], weights = [];
	const unit = {bytes: 'bytes', us: 'microseconds'}[meta.unit] || 'none';

	for (let node = 1; node < profile.count; node++) {
		if (profile.self[node]) {
			parts.push((parts.length ? ',[' : '[') + profile.path(node).map((n) => profile.frame[n]).join() + ']');
			weights.push(profile.self[node]);
		}
	}
	const names = frames.names.map((_, n) => ({name: frames.label(n), ...(frames.files[n] && {file: frames.files[n]}),
		...(frames.lines[n] && {line: frames.lines[n]})}));

	return [`{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"stackprobe",
"name":${JSON.stringify(meta.title)},"shared":{"frames":${JSON.stringify(names)}},
"profiles":[{"type":"sampled","name":${JSON.stringify(meta.title)},"unit":"${unit}","startValue":0,"endValue":${weight},
"samples":[`, ...parts, `],"weights":${JSON.stringify(weights)}}]}`];
}

/* --- pprof (profile.proto of google/pprof), without addresses: the page doesn't know them --- */

class Message {
	bytes = new Uint8Array(64);
	length = 0;

	add(bytes) {
		if (this.length + bytes.length > this.bytes.length) {
			const grown = new Uint8Array(2 * (this.length + bytes.length));

			grown.set(this.bytes);
			this.bytes = grown;
		}
		this.bytes.set(bytes, this.length);
		this.length += bytes.length;
	}

	varint(value) {
		const bytes = [];

		for (; value >= 128; value = Math.floor(value / 128))
			bytes.push(value % 128 + 128);
		bytes.push(value);
		this.add(bytes);
	}

	number(field, value) {
		if (value) {
			this.varint(field * 8);
			this.varint(value);
		}
		return this;
	}

	data(field, bytes) {
		this.varint(field * 8 + 2);
		this.varint(bytes.length);
		this.add(bytes);
		return this;
	}

	get content() {
		return this.bytes.subarray(0, this.length);
	}

	numbers(field, values) {
		const packed = new Message();

		values.forEach((value) => packed.varint(value));
		return this.data(field, packed.content);
	}

	message(field, fill) {
		const inner = new Message();

		fill(inner);
		return this.data(field, inner.content);
	}
}

export async function pprof(profile) {
	const {meta, frames} = profile, out = new Message(), texts = new Map([['', 0]]);
	const text = (value) => texts.get(value) ?? (texts.set(value, texts.size), texts.size - 1);
	const [type, unit] = {samples: ['samples', 'count'], us: ['time', 'microseconds'], bytes: ['space', 'bytes']}[meta.unit]
		|| [meta.unit, 'count'];

	out.message(1, (m) => m.number(1, text(type)).number(2, text(unit)));
	for (let node = 1; node < profile.count; node++) {
		if (profile.self[node])
			out.message(2, (m) => m.numbers(1, profile.path(node).reverse().map((n) => profile.frame[n] + 1))
				.numbers(2, [profile.self[node]]));
	}
	frames.names.forEach((_, n) => {
		out.message(4, (m) => m.number(1, n + 1).message(4, (line) => line.number(1, n + 1).number(2, frames.lines[n])));
		out.message(5, (m) => m.number(1, n + 1).number(2, text(frames.label(n))).number(4, text(frames.files[n])));
	});
	out.number(9, Math.round(1e9 * meta.from)).number(10, Math.round(1e9 * (meta.until - meta.from)));
	out.numbers(13, [text('made by a page, which has no addresses')]);
	for (const value of texts.keys())
		out.data(6, new TextEncoder().encode(value));
	const packed = new Blob([out.content]).stream().pipeThrough(new CompressionStream('gzip'));

	return [await new Response(packed).blob()];
}

/* --- a picture --- */

const escape = (text) => visible(text).replace(/[<>&"']/g, (c) => `&#${c.charCodeAt(0)};`);

/* Returns an SVG of a profile from a node on. */
export function svg(profile, {zoomed, icicle, colours, heading}) {
	const width = 1200, row = 18, least = 0.1, parts = [];
	const scale = width / (profile.total[zoomed] || 1), base = profile.depth[zoomed], x = [];
	let deepest = 0;

	x[base] = 0;
	for (let node = zoomed; node < profile.end[zoomed];) {
		const depth = profile.depth[node], wide = profile.total[node] * scale;

		if (wide < least) {
			x[depth] += wide;
			node = profile.end[node];
			continue;
		}
		deepest = Math.max(deepest, depth - base);
		parts.push([node, depth - base, x[depth], wide]);
		x[depth + 1] = x[depth];
		x[depth] += wide;
		node++;
	}
	const height = (deepest + 1) * row + 40;
	const boxes = parts.map(([node, depth, left, wide]) => {
		const top = icicle ? 30 + depth * row : height - 10 - (depth + 1) * row, label = profile.label(node);
		const value = `${amount(profile.total[node], profile.meta.unit)}, ${percent(profile.total[node], profile.weight)}`;
		const room = Math.floor((wide - 6) / 6.6), shown = label.length > room ? `${label.slice(0, room - 1)}…` : label;

		return `<g><title>${escape(label)} (${value})</title><rect x="${left.toFixed(2)}" y="${top}" width="${wide.toFixed(2)}" `
			+ `height="${row - 1}" fill="${colours.of(profile, node)}"/>`
			+ (room > 2 ? `<text x="${(left + 3).toFixed(2)}" y="${top + 13}">${escape(shown)}</text>` : '') + '</g>';
	});

	return [`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="monospace" font-size="11">`
		+ `<rect width="100%" height="100%" fill="${colours.ground}"/><g fill="${colours.text}">`
		+ `<text x="10" y="18">${escape(heading)}</text>`, ...boxes, '</g></svg>\n'];
}

/* --- a stack --- */

/* Returns a stack as text, leaf first. In a profile of callers the leaf is first already. */
export function stackText({profile, node, isInverted}) {
	const path = profile.path(node), lines = isInverted ? path : path.reverse();

	return `${lines.map((n) => visible(profile.frames.text(profile.frame[n]))).join('\n')}\n`
		+ `${amount(profile.total[node], profile.meta.unit)}, ${percent(profile.total[node], profile.weight)} of ${profile.meta.title}\n`;
}

export function kindOf(profile, node) {
	return node ? KINDS[profile.frames.kinds[profile.frame[node]]] : 'root';
}
