/* A profile as files that other tools read, and as text to paste. */
import {colourOf, inks} from './colours.js';
import {ROW, walk} from './graph.js';
import {amount, foldedName, goneWords, percent, visible} from './words.js';

const UNITS = {bytes: 'bytes', us: 'microseconds'}; /* as other tools call them */

function weightOf(profile, node) {
	const {total, weight, meta} = profile;

	return goneWords(profile, node) || `${amount(total[node], meta.unit)}, ${percent(total[node], weight)}`;
}

/* Each returns parts of a file, as Blob takes them: one text may be too long for a browser. (Speedscope's is one.) */

/* Returns of each stack its node and what part(node) tells. */
function stacks(profile, part) {
	const parts = [];

	for (let node = 1; node < profile.count; node++) {
		if (profile.self[node])
			parts.push(part(node, profile.self[node]));
	}
	return parts;
}

/* --- folded text --- */

export function folded(profile) {
	const names = profile.frames.all.map((_, frame) => foldedName(profile.frames.text(frame)));

	return stacks(profile, (node, self) => `${profile.stack(node).map((frame) => names[frame]).join(';')} ${Math.round(self)}\n`);
}

/* --- speedscope's JSON (its file-format-schema.json) --- */

export function speedscope(profile) {
	const {meta: {title: name, unit}, frames, weight: endValue} = profile;

	return [JSON.stringify({$schema: 'https://www.speedscope.app/file-format-schema.json', exporter: 'stackprobe', name,
		shared: {frames: frames.all.map(({file, line}, n) => ({name: frames.label(n), ...(file && {file}), ...(line && {line})}))},
		profiles: [{type: 'sampled', name, unit: UNITS[unit] ?? 'none', startValue: 0, endValue,
			samples: stacks(profile, (node) => profile.stack(node)), weights: stacks(profile, (_, self) => self)}]})];
}

/* --- pprof (profile.proto of google/pprof), without addresses: the page doesn't know them --- */

const varint = (value) => value < 128 ? [value] : [value % 128 + 128, ...varint(Math.floor(value / 128))];
const field = (number, value) => [...varint(8 * number), ...varint(value)];
const message = (number, bytes) => [...varint(8 * number + 2), ...varint(bytes.length), ...bytes];
const packed = (number, values) => message(number, values.flatMap(varint));

export async function pprof(profile) {
	const {meta: {unit, from, until}, frames} = profile, texts = new Map([['', 0]]);
	const text = (value) => texts.get(value) ?? (texts.set(value, texts.size), texts.size - 1);
	const parts = [
		message(1, [...field(1, text({us: 'time', bytes: 'space'}[unit] ?? unit)), ...field(2, text(UNITS[unit] ?? 'count'))]),
		...stacks(profile, (node, self) => message(2, [...packed(1, profile.stack(node).reverse().map((frame) => frame + 1)),
			...packed(2, [self])])),
		...frames.all.map(({line}, n) => message(4, [...field(1, n + 1), ...message(4, [...field(1, n + 1), ...field(2, line)])])),
		...frames.all.map(({file}, n) => message(5, [...field(1, n + 1), ...field(2, text(frames.label(n))), ...field(4, text(file))])),
		[...field(9, Math.round(1e9 * from)), ...field(10, Math.round(1e9 * (until - from)))],
	];

	for (const value of texts.keys())
		parts.push(message(6, new TextEncoder().encode(value)));
	const zipped = new Blob(parts.map((part) => Uint8Array.from(part))).stream().pipeThrough(new CompressionStream('gzip'));

	return [await new Response(zipped).blob()];
}

/* --- a picture --- */

const escape = (text) => visible(text).replace(/[<>&"']/g, (c) => `&#${c.charCodeAt(0)};`);

/* Returns an SVG of a profile from a node on; what is thinner than a tenth of a pixel is drawn together. */
export function svg(profile, {zoomed, icicle, heading}) {
	const width = 1200, boxes = [];
	let height = 0;

	walk(profile, zoomed, 5 * width, Infinity, (node, left, wide, isNarrow) => {
		const below = (profile.depth[node] - profile.depth[zoomed]) * ROW, top = icicle ? below : -below - ROW, x = left / 5;
		const label = isNarrow ? 'several' : profile.label(node), room = Math.floor((wide / 5 - 6) / 6.6);
		const name = label.length > room ? `${label.slice(0, room - 1)}…` : label;

		height = Math.max(height, below + ROW);
		boxes.push(`<g><title>${escape(label)}${isNarrow ? '' : ` (${weightOf(profile, node)})`}</title><rect x="${x.toFixed(2)}" y="${top}" `
			+ `width="${(wide / 5).toFixed(2)}" height="${ROW - 1}" fill="${isNarrow ? inks.narrow : colourOf(profile, node)}"${
				goneWords(profile, node) && ' stroke="gray" stroke-dasharray="2"'}/>`
			+ (room > 2 ? `<text x="${(x + 3).toFixed(2)}" y="${top + 13}">${escape(name)}</text>` : '') + '</g>');
	});
	const top = (icicle ? 0 : -height) - 30;

	return [`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 ${top} ${width} ${height + 40}" font-family="monospace" font-size="11">`
		+ `<rect y="${top}" width="100%" height="100%" fill="${inks.ground}"/><g fill="${inks.text}">`
		+ `<text x="10" y="${top + 18}">${escape(heading)}</text>`, ...boxes, '</g></svg>\n'];
}

/* --- a stack --- */

/* Returns a stack as text, leaf first. In a profile of callers the leaf is first already. */
export function stackText({profile, node, isInverted}) {
	const names = profile.names(node).map(visible), lines = isInverted ? names : names.reverse();

	return `${lines.join('\n')}\n${weightOf(profile, node)} of ${profile.meta.title}\n`;
}
