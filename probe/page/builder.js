/* Makes profiles: out of an answer of the daemon, out of several, out of a part of one. */
import {foldedName} from './words.js';
import {Frames, KINDS, OFF_CPU, ON_CPU, Profile, frameOf} from './profile.js';

const ROOM = 2 ** 22; /* frames; a node's number times this is exact up to 2^31 nodes */
const KEEP = 0, HIDE = 1, SKIP = 2, FOLD = 3; /* fates of nodes */

/* A tree that grows. Equal frames below one node are one. */
export class Builder {
	frame = [0];
	parent = [-1];
	self = [0];
	gone = []; /* of nodes that have some */
	known = new Map();

	constructor(frames = new Frames()) {
		this.frames = frames;
	}

	/* Returns the child of `node` with that frame, which is made if it is missing. */
	child(node, frame) {
		const key = node * ROOM + frame;
		let found = this.known.get(key);

		if (found === undefined) {
			found = this.frame.push(frame) - 1;
			this.parent.push(node);
			this.self.push(0);
			this.known.set(key, found);
		}
		return found;
	}

	/* Adds weight that isn't there any more. */
	lose(node, weight) {
		if (weight)
			this.gone[node] = (this.gone[node] ?? 0) + weight;
	}

	/*
	 * Adds node `from` of a profile and what is below it as a child of `node`; the root itself is `node`. Weights are
	 * multiplied by `scale`, and go to a frame `leaf` of their own, if there is one. treat(n) says what becomes of a node
	 * and what is below it: KEEP, HIDE (its children and its own weight go to its parent), SKIP or FOLD (what is below it
	 * isn't told apart). twin(node, frame), of a profile that is gone, returns the child that stands for a frame, if not
	 * that with the same frame does.
	 */
	merge(profile, {from = 0, node = 0, treat = () => KEEP, scale = 1, leaf, twin} = {}) {
		const frames = this.translate(profile.frames), at = [], base = profile.depth[from];

		for (let n = from, next; n < profile.end[from]; n = next) {
			const depth = profile.depth[n] - base, into = depth ? at[depth - 1] : node;
			const fate = n ? treat(n) : HIDE, own = scale * profile.self[n], frame = n && frames(profile.frame[n]);

			next = fate === SKIP || fate === FOLD ? profile.end[n] : n + 1;
			if (fate === SKIP)
				continue;
			const here = at[depth] = fate === HIDE ? into : this.known.get(into * ROOM + frame) ?? twin?.(into, frame) ?? this.child(into, frame);

			if (fate === FOLD) {
				this.fold(profile, n, here);
				continue;
			}
			if (own && !twin)
				this.self[leaf === undefined ? here : this.child(here, leaf)] += own;
			this.lose(here, twin ? own : profile.gone?.[n]);
		}
	}

	/* Adds all the weight of a node as its own; what ran and what waited stay apart. */
	fold(profile, n, node) {
		const {hot, total, wide} = profile, parts = hot ? [[ON_CPU, hot[n]], [OFF_CPU, total[n] - hot[n]]] : [['', total[n]]];

		for (const [name, weight] of parts) {
			if (weight)
				this.self[name ? this.child(node, this.frames.add(frameOf(name, 'marker'))) : node] += weight;
		}
		this.lose(node, wide[n] - total[n]);
	}

	/* Returns a function from numbers of frames there to numbers here. */
	translate(theirs) {
		const numbers = [];

		return theirs === this.frames ? (frame) => frame : (frame) => numbers[frame] ??= this.frames.add(theirs.all[frame]);
	}

	/* Returns the profile; children are sorted by their names, so that they don't jump when weights change. */
	finish(meta) {
		const {frame, parent, self, gone, frames} = this, count = frame.length, texts = frames.all.map((_, n) => frames.text(n));
		const children = Array.from({length: count}, () => null), todo = [[0, 0]];
		const columns = {
			frame: new Uint32Array(count), depth: new Uint16Array(count), self: new Float64Array(count),
			gone: gone.length ? new Float64Array(count) : null,
		};

		for (let node = 1; node < count; node++)
			(children[parent[node]] ??= []).push(node);
		for (let n = 0; todo.length; n++) {
			const [node, depth] = todo.pop(), below = children[node] || [];

			columns.frame[n] = frame[node];
			columns.depth[n] = depth;
			columns.self[n] = self[node];
			if (gone[node])
				columns.gone[n] = gone[node];
			below.sort((a, b) => (texts[frame[b]] > texts[frame[a]]) - (texts[frame[b]] < texts[frame[a]]));
			for (const child of below)
				todo.push([child, depth + 1]);
		}
		return new Profile(this.frames, columns, meta);
	}
}

/* --- answers of the daemon --- */

/* Reads `.json`: nested {name, kind, file, line, self, children}. */
export function fromJson(tree, meta) {
	const builder = new Builder(), todo = [[tree, 0]];

	while (todo.length) {
		const [{self, children}, node] = todo.pop();

		builder.self[node] += self;
		for (const child of children) {
			const frame = frameOf(foldedName(child.name), child.kind, child.file, child.line);

			todo.push([child, builder.child(node, builder.frames.add(frame))]);
		}
	}
	return builder.finish(meta);
}

/* Takes numbers of variable length (LEB128) out of bytes. */
function readNumbers(bytes, count) {
	const into = new Float64Array(count);
	let at = 0;

	for (let n = 0; n < count; n++) {
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
	const text = (from, length) => new TextDecoder().decode(new Uint8Array(buffer, from, length)), column = {};

	if (buffer.byteLength < 8 || text(0, 4) !== 'SPF2')
		throw new Error('this is no profile of .frames');
	const head = new DataView(buffer).getUint32(4, true), meta = JSON.parse(text(8, head));
	let at = 8 + head, next = 0;

	for (const [name, bytes] of meta.columns) {
		column[name] = new Uint8Array(buffer, at, bytes);
		at += bytes;
	}
	const frames = new Frames(), lines = (name) => new TextDecoder().decode(column[name]).split('\n');
	const names = lines('names'), files = lines('files'), modules = lines('modules');
	const [file, line, module] = ['file', 'line', 'module'].map((name) => readNumbers(column[name], meta.frames));

	for (let n = 0; n < meta.frames; n++)
		frames.push(frameOf(names[n], KINDS[column.kinds[n]], files[file[n]], line[n], modules[module[n]]));
	return new Profile(frames, {
		frame: new Uint32Array(readNumbers(column.frame, meta.nodes).map((n) => n ? n - 1 : next++)),
		depth: new Uint16Array(readNumbers(column.depth, meta.nodes)),
		self: readNumbers(column.self, meta.nodes),
	}, meta);
}

/* --- parts of a profile --- */

const TREATMENTS = {hide: HIDE, without: SKIP, collapse: FOLD};

/* Applies one step, {op, label}, and returns the new profile. A function that isn't in it changes nothing. */
function applyStep(profile, {op, label}) {
	const builder = new Builder(profile.frames), f = profile.frames.find(label), {parent} = profile;

	if (op === 'recursion')
		builder.merge(profile, {treat: (node) => profile.functionOf(node) === profile.functionOf(parent[node]) ? HIDE : KEEP});
	else if (f < 0)
		return profile;
	else if (op === 'only')
		keepOnly(builder, profile, f);
	else
		builder.merge(profile, {treat: (node) => profile.functionOf(node) === f ? TREATMENTS[op] : KEEP});
	return builder.finish(profile.meta);
}

function keepOnly(builder, profile, f) {
	for (const node of profile.outermost((one) => one === f))
		builder.merge(profile, {from: node, node: profile.stack(profile.parent[node]).reduce((at, caller) => builder.child(at, caller), 0)});
}

export const applySteps = (profile, steps) => steps.reduce(applyStep, profile);

/* --- callers and callees --- */

/* Returns {callers, callees}: two profiles whose one frame on the first row is the function. */
export function sandwich(profile, f) {
	const frame = profile.frames.functions.first[f];
	const callers = new Builder(profile.frames), callees = new Builder(profile.frames);
	const up = callers.child(0, frame), down = callees.child(0, frame);

	for (const node of profile.outermost((one) => one === f)) {
		const at = profile.stack(profile.parent[node]).reduceRight((below, caller) => callers.child(below, caller), up);

		callers.self[at] += profile.total[node];
		callers.lose(at, profile.wide[node] - profile.total[node]);
		callees.self[down] += profile.self[node];
		callees.lose(down, profile.gone?.[node]);
		for (const child of profile.children(node))
			callees.merge(profile, {from: child, node: down});
	}
	return {callers: callers.finish(profile.meta), callees: callees.finish(profile.meta)};
}

/* --- two profiles in one --- */

/* Puts samples on CPUs and times off them together, as time of threads (us). Leaves tell which of the two it was. */
export function hotCold(hot, cold) {
	const builder = new Builder(), {meta} = hot, leaf = builder.frames.hot = builder.frames.add(frameOf(ON_CPU, 'marker'));

	builder.merge(hot, {scale: meta.period_ns / 1000, leaf});
	builder.merge(cold, {leaf: builder.frames.add(frameOf(OFF_CPU, 'marker'))});
	return builder.finish({...meta, title: 'Time of threads on and off CPUs', unit: 'us', period_ns: 0,
		lost: meta.lost + cold.meta.lost, left_out: meta.left_out + cold.meta.left_out, truncated: meta.truncated * meta.period_ns / 1000 + cold.meta.truncated});
}

/* Returns a profile that has also the stacks that only an earlier one has: by functions, whose files and lines may be others
 * since. A process is the same if its name is: it may have been started again. Where the earlier one is of something else
 * (`isOther`), that stands for what is here. */
export function withGone(profile, before, scale, isOther) {
	const {frames} = profile, {all} = frames, builder = new Builder(frames), heads = [], known = new Map();
	const nameOf = (frame) => all[frame].name.replace(/^\[\d+\]/, '');

	builder.merge(profile);
	builder.frame.forEach((frame, node) => {
		if (frames.isHead(frame))
			heads.push({node, frame, parent: builder.parent[node]});
		known.set(builder.parent[node] * ROOM + frames.functions.of[frame], node);
	});
	builder.merge(before, {scale, twin: (parent, frame) => {
		if (!frames.isHead(frame))
			return known.get(parent * ROOM + frames.functions.of[frame]);
		const found = heads.filter((head) => head.parent === parent && all[head.frame].kind === all[frame].kind);

		return (found.find((head) => nameOf(head.frame) === nameOf(frame)) ?? (isOther && found[0]))?.node;
	}});
	return builder.finish(profile.meta);
}
