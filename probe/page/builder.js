/* Makes profiles: out of an answer of the daemon, out of several, out of a part of one. */
import {foldedName} from './words.js';
import {Frames, KINDS, OFF_CPU, ON_CPU, Profile} from './profile.js';

const ROOM = 2 ** 22; /* frames; a node's number times this is exact up to 2^31 nodes */

/* A tree that grows. Equal frames below one node are one. */
export class Builder {
	constructor(frames = new Frames()) {
		this.frames = frames;
		this.frame = [0];
		this.parent = [-1];
		this.self = [0];
		this.known = new Map();
	}

	/* Returns the child of `node` with that frame, which is made if it is missing. */
	child(node, frame) {
		const key = node * ROOM + frame;
		let found = this.known.get(key);

		if (found === undefined) {
			found = this.frame.length;
			this.frame.push(frame);
			this.parent.push(node);
			this.self.push(0);
			this.known.set(key, found);
		}
		return found;
	}

	/*
	 * Adds node `from` of a profile and what is below it as a child of `node`; the root itself is `node`. Weights are
	 * multiplied by `scale`, and go to a frame `leaf` of their own, if there is one. treat(n) says what becomes of a node and what is below it: KEEP, HIDE (its children
	 * and its own weight go to its parent), SKIP or FOLD (what is below it isn't told apart).
	 */
	merge(profile, {from = 0, node = 0, treat = () => KEEP, scale = 1, leaf} = {}) {
		const frames = this.translate(profile.frames), at = [], base = profile.depth[from];

		for (let n = from; n < profile.end[from];) {
			const depth = profile.depth[n] - base, into = depth ? at[depth - 1] : node;
			const fate = n ? treat(n) : HIDE;

			if (fate === SKIP) {
				n = profile.end[n];
				continue;
			}
			at[depth] = fate === HIDE ? into : this.child(into, frames(profile.frame[n]));
			if (fate === FOLD)
				this.fold(profile, n, at[depth]);
			else if (profile.self[n])
				this.self[leaf === undefined ? at[depth] : this.child(at[depth], leaf)] += scale * profile.self[n];
			n = fate === FOLD ? profile.end[n] : n + 1;
		}
	}

	/* Adds all the weight of a node as its own; what ran and what waited stay apart. */
	fold(profile, n, node) {
		const marker = KINDS.indexOf('marker'), hot = profile.hot?.[n] ?? 0, rest = profile.total[n] - hot;

		if (!profile.hot) {
			this.self[node] += rest;
			return;
		}
		for (const [name, weight] of [[ON_CPU, hot], [OFF_CPU, rest]]) {
			if (weight)
				this.self[this.child(node, this.frames.add(name, marker))] += weight;
		}
	}

	/* Returns a function from numbers of frames there to numbers here. */
	translate(theirs) {
		const numbers = [];

		if (theirs === this.frames)
			return (frame) => frame;
		return (frame) => numbers[frame] ??= this.frames.add(theirs.names[frame], theirs.kinds[frame],
			theirs.files[frame], theirs.lines[frame], theirs.modules[frame]);
	}

	/* Returns the profile; children are sorted by their names, so that they don't jump when weights change. */
	finish(meta) {
		const {frame, parent, self, frames} = this, count = frame.length;
		const children = Array.from({length: count}, () => null);
		const columns = {
			frame: new Uint32Array(count), depth: new Uint16Array(count), self: new Float64Array(count),
		};
		const todo = [[0, 0]];

		for (let node = 1; node < count; node++)
			(children[parent[node]] ??= []).push(node);
		for (let n = 0; todo.length; n++) {
			const [node, depth] = todo.pop(), below = children[node] || [];

			columns.frame[n] = frame[node];
			columns.depth[n] = depth;
			columns.self[n] = self[node];
			below.sort((a, b) => compare(frames, frame[b], frame[a]));
			for (const child of below)
				todo.push([child, depth + 1]);
		}
		return new Profile(frames, columns, meta);
	}
}

export const KEEP = 0, HIDE = 1, SKIP = 2, FOLD = 3;

function compare(frames, a, b) {
	const x = frames.names[a], y = frames.names[b];

	return x < y ? -1 : x > y ? 1 : frames.kinds[a] - frames.kinds[b] || frames.lines[a] - frames.lines[b];
}

/* --- answers of the daemon --- */

/* Reads `.json`: nested {name, kind, file, line, self, children}. */
export function fromJson(tree, meta) {
	const builder = new Builder(), todo = [[tree, 0]];

	while (todo.length) {
		const [frame, node] = todo.pop();

		builder.self[node] += frame.self;
		for (const child of frame.children) {
			const kind = Math.max(KINDS.indexOf(child.kind), 1);
			const number = builder.frames.add(foldedName(child.name), kind, child.file, child.line);

			todo.push([child, builder.child(node, number)]);
		}
	}
	return builder.finish(meta);
}

/* Takes numbers of variable length (LEB128) out of bytes. */
function readNumbers(bytes, into) {
	let at = 0;

	for (let n = 0; n < into.length; n++) {
		let byte = bytes[at++], value = byte & 127;

		for (let scale = 128; byte & 128; scale *= 128) {
			byte = bytes[at++];
			value += (byte & 127) * scale;
		}
		into[n] = value;
	}
	if (at !== bytes.length)
		throw new Error('the profile is cut');
	return into;
}

/* Reads `.frames` (doc/formats.md): a header of JSON, then columns. */
export function fromFrames(buffer) {
	const view = new DataView(buffer), text = new TextDecoder();

	if (buffer.byteLength < 8 || text.decode(new Uint8Array(buffer, 0, 4)) !== 'SPF2')
		throw new Error('this is no profile of .frames');
	const headBytes = view.getUint32(4, true);
	const meta = JSON.parse(text.decode(new Uint8Array(buffer, 8, headBytes)));
	let at = 8 + headBytes;
	let next = 0;
	const column = {};

	for (const [name, bytes] of meta.columns) {
		column[name] = new Uint8Array(buffer, at, bytes);
		at += bytes;
	}
	return new Profile(readFrames(meta, column), {
		frame: readNumbers(column.frame, new Uint32Array(meta.nodes)).map((n) => n ? n - 1 : next++),
		depth: readNumbers(column.depth, new Uint16Array(meta.nodes)),
		self: readNumbers(column.self, new Float64Array(meta.nodes)),
	}, meta);
}

function readFrames(meta, column) {
	const frames = new Frames(), text = new TextDecoder();
	const lines = (name) => text.decode(column[name]).split('\n');
	const names = lines('names'), files = lines('files'), modules = lines('modules');
	const number = (name) => readNumbers(column[name], new Uint32Array(meta.frames));
	const file = number('file'), line = number('line'), module = number('module');

	for (let n = 0; n < meta.frames; n++)
		frames.push(names[n], column.kinds[n], files[file[n]], line[n], modules[module[n]]);
	return frames;
}

/* --- parts of a profile --- */

const TREATMENTS = {hide: HIDE, without: SKIP, collapse: FOLD};

/* Applies one step, {op, label}, and returns the new profile. A function that isn't in it changes nothing. */
function applyStep(profile, {op, label}) {
	const builder = new Builder(profile.frames), f = profile.frames.find(label);
	const repeats = (node) => profile.parent[node] > 0 &&
		profile.functionOf(node) === profile.functionOf(profile.parent[node]);

	if (op === 'recursion')
		builder.merge(profile, {treat: (node) => repeats(node) ? HIDE : KEEP});
	else if (f < 0)
		return profile;
	else if (op === 'only')
		keepOnly(builder, profile, f);
	else
		builder.merge(profile, {treat: (node) => profile.functionOf(node) === f ? TREATMENTS[op] : KEEP});
	return builder.finish(profile.meta);
}

function keepOnly(builder, profile, f) {
	for (const node of profile.outermost(f)) {
		let at = 0;

		for (const caller of profile.path(profile.parent[node]))
			at = builder.child(at, profile.frame[caller]);
		builder.merge(profile, {from: node, node: at});
	}
}

export function applySteps(profile, steps) {
	return steps.reduce(applyStep, profile);
}

/* --- callers and callees --- */

/* Returns {callers, callees}: two profiles whose one frame on the first row is the function. */
export function sandwich(profile, f) {
	const frame = profile.frames.firstOf[f];
	const callers = new Builder(profile.frames), callees = new Builder(profile.frames);
	const up = callers.child(0, frame), down = callees.child(0, frame);

	for (const node of profile.outermost(f)) {
		let at = up;

		for (let caller = profile.parent[node]; caller > 0; caller = profile.parent[caller])
			at = callers.child(at, profile.frame[caller]);
		callers.self[at] += profile.total[node];
		callees.self[down] += profile.self[node];
		for (const child of profile.children(node))
			callees.merge(profile, {from: child, node: down});
	}
	return {callers: callers.finish(profile.meta), callees: callees.finish(profile.meta)};
}

/* Puts samples on CPUs and times off them together, as time of threads (us). Leaves tell which of the two it was. */
export function hotCold(hot, cold) {
	const builder = new Builder(), {meta} = hot, marker = KINDS.indexOf('marker');

	builder.merge(hot, {scale: meta.period_ns / 1000, leaf: builder.frames.add(ON_CPU, marker)});
	builder.merge(cold, {leaf: builder.frames.add(OFF_CPU, marker)});
	return builder.finish({...meta, title: 'Time of threads on and off CPUs', unit: 'us', period_ns: 0,
		lost: meta.lost + cold.meta.lost, left_out: meta.left_out + cold.meta.left_out, truncated: meta.truncated * meta.period_ns / 1000 + cold.meta.truncated});
}
