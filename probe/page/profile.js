/*
 * A profile: a tree of frames in preorder, as columns. Node 0 is the root. A profile never changes;
 * builder.js makes new ones. Nothing in here touches the document.
 */
export const KINDS = ['root', 'pod', 'container', 'process', 'thread', 'marker', 'native', 'kernel', 'jit', 'inlined',
	'interpreted', 'python'];
export const ON_CPU = '[on CPU]', OFF_CPU = '[off CPU]'; /* leaves of a profile that has both */
const SUFFIXES = {kernel: '_[k]', jit: '_[j]', inlined: '_[i]', interpreted: '_[0]', python: '_[p]'};
const LAST_HEAD = KINDS.indexOf('thread'); /* up to here frames say whose stacks they are */

/* Returns the label of a function: its name with the suffix of its kind. */
export function labelOf(name, kind) {
	return name + (SUFFIXES[kind] || '');
}

function keyOf(name, kind, file = '', line = 0, module = '') {
	return `${kind};${line};${file};${module};${name}`;
}

/* The distinct frames of one or more profiles, and their functions: a function has one name and one
 * kind, its frames may have several lines. */
export class Frames {
	constructor() {
		this.names = [];
		this.kinds = [];
		this.files = []; /* '' where the file isn't known */
		this.lines = []; /* 0 where the line isn't known */
		this.modules = []; /* '' where the file with the code isn't known */
		this.functionOf = []; /* the function of a frame */
		this.firstOf = []; /* a frame of a function */
		this.labels = []; /* of functions: the name with the suffix of its kind */
		this.keys = new Map(); /* of add() */
		this.keyed = 0;
		this.functions = new Map();
	}

	/* Returns the number of the frame, which is made if it is missing. */
	add(...frame) {
		const {keys} = this, key = keyOf(...frame);

		for (; this.keyed < this.names.length; this.keyed++) { /* frames that were pushed have no keys yet */
			const n = this.keyed;

			keys.set(keyOf(this.names[n], this.kinds[n], this.files[n], this.lines[n], this.modules[n]), n);
		}
		if (!keys.has(key))
			keys.set(key, this.push(...frame));
		return keys.get(key);
	}

	/* Returns the number of a new frame, also if there is an equal one: of another process, perhaps. */
	push(name, kind, file = '', line = 0, module = '') {
		const number = this.names.length, label = labelOf(name, KINDS[kind]);

		this.names.push(name);
		this.kinds.push(kind);
		this.files.push(file);
		this.lines.push(line);
		this.modules.push(module);
		const key = `${kind <= LAST_HEAD ? 'head' : 'code'};${label}`;

		if (!this.functions.has(key)) {
			this.functions.set(key, this.firstOf.length);
			this.firstOf.push(number);
			this.labels.push(label);
		}
		this.functionOf.push(this.functions.get(key));
		return number;
	}

	/* Returns how much a function changed, from -1 to 1: of a range that is compared with another; else 0. */
	changeOf(frame) {
		return this.isHead(frame) ? 0 : this.changes?.get(this.label(frame)) ?? 0;
	}

	label(frame) {
		return this.labels[this.functionOf[frame]];
	}

	/* Returns the frame as folded text has it, with its place. */
	text(frame) {
		const file = this.files[frame], line = this.lines[frame], place = file && line ? `${file}:${line}` : file;

		return `${this.names[frame]}${place && ` (${place})`}${SUFFIXES[KINDS[this.kinds[frame]]] || ''}`;
	}

	/* Returns the label by which a function is found: those of heads begin with `;`, which no name has. */
	labelOf(f) {
		return (this.isHead(this.firstOf[f]) ? ';' : '') + this.labels[f];
	}

	/* Returns the function with that label, or -1. */
	find(label) {
		return this.functions.get(label[0] === ';' ? `head${label}` : `code;${label}`) ?? -1;
	}

	/* Returns whether the frame says whose stacks those below are; it is no function then. */
	isHead(frame) {
		return this.kinds[frame] <= LAST_HEAD;
	}
}

export class Profile {
	/* `depth` and `self` are columns of one length; `meta` is what is known of the whole. */
	constructor(frames, columns, meta) {
		this.frames = frames;
		this.frame = columns.frame;
		this.depth = columns.depth;
		this.self = columns.self;
		this.meta = meta;
		this.count = this.frame.length;
		this.sum();
	}

	/* Fills in each node's parent, the node behind its subtree, and its total. */
	sum() {
		const {count, depth} = this, open = [];
		const end = this.end = new Uint32Array(count), parent = this.parent = new Int32Array(count);
		const total = this.total = Float64Array.from(this.self);
		let top = -1, deepest = 0;
		const close = (before, until) => {
			for (; top >= before; top--) {
				end[open[top]] = until;
				if (top > 0)
					total[open[top - 1]] += total[open[top]];
			}
		};

		for (let node = 0; node < count; node++) {
			const d = depth[node];

			close(d, node);
			parent[node] = d ? open[d - 1] : -1;
			open[top = d] = node;
			if (d > deepest)
				deepest = d;
		}
		close(0, count);
		this.height = deepest + 1;
		this.weight = count ? total[0] : 0;
	}

	/* Returns each node's weight on CPUs, if the profile tells that and the rest apart; else null. */
	get hot() {
		if (this.heat === undefined) {
			const f = this.frames.find(ON_CPU), self = this.self.map((own, node) => this.functionOf(node) === f ? own : 0);

			this.heat = f < 0 ? null : new Profile(this.frames, {frame: this.frame, depth: this.depth, self}, {}).total;
		}
		return this.heat;
	}

	/* The largest own weight of a node. */
	get mostSelf() {
		return this.most ??= this.self.reduce((most, own) => Math.max(most, own), 0);
	}

	label(node) {
		return node ? this.frames.label(this.frame[node]) : 'all';
	}

	functionOf(node) {
		return node ? this.frames.functionOf[this.frame[node]] : -1;
	}

	/* Returns the nodes from the root's child to `node`. */
	path(node) {
		const nodes = [];

		for (let at = node; at > 0; at = this.parent[at])
			nodes.push(at);
		return nodes.reverse();
	}

	children(node) {
		const nodes = [];

		for (let at = node + 1; at < this.end[node]; at = this.end[at])
			nodes.push(at);
		return nodes;
	}

	/* Returns the path of a node by names, which another profile may have, too. */
	names(node) {
		return this.path(node).map((at) => this.frames.text(this.frame[at]));
	}

	/* Returns the node with that path, or the last one on the way that is there; lines may be others. */
	follow(names) {
		let node = 0;

		for (const name of names) {
			const children = this.children(node);
			const next = children.find((child) => this.frames.text(this.frame[child]) === name)
				?? children.find((child) => this.label(child) === name.replace(/ \([^()]*:\d+\)/, ''));

			if (next === undefined)
				break;
			node = next;
		}
		return node;
	}

	/* Returns [{function, self, total}], by total: a stack counts once for a function, however often it is in it. */
	table() {
		const {count, depth, frames} = this, functions = frames.firstOf.length;
		const self = new Float64Array(functions), total = new Float64Array(functions);
		const inside = new Uint32Array(functions), open = [];
		let top = 0;

		for (let node = 1; node < count; node++) {
			const f = this.functionOf(node);

			for (; top >= depth[node]; top--)
				inside[open[top]]--;
			self[f] += this.self[node];
			if (!inside[f]++)
				total[f] += this.total[node];
			open[top = depth[node]] = f;
		}
		return Array.from(total, (value, f) => ({function: f, self: self[f], total: value}))
			.filter((row) => row.total && !frames.isHead(frames.firstOf[row.function]))
			.sort((a, b) => b.total - a.total || b.self - a.self || a.function - b.function);
	}

	/* Returns the nodes of a function that lie in no other node of it. */
	outermost(f) {
		const nodes = [];

		for (let node = 1; node < this.count;) {
			const found = this.functionOf(node) === f;

			if (found)
				nodes.push(node);
			node = found ? this.end[node] : node + 1;
		}
		return nodes;
	}

	/* Returns the weight of the stacks at or below `from` that have a function of `matches`, each once. */
	matched(matches, from = 0) {
		let weight = 0;

		for (let at = from; at > 0; at = this.parent[at]) {
			if (matches[this.functionOf(at)])
				return this.total[from]; /* all of them have it on their way */
		}
		for (let node = from; node < this.end[from];) {
			const found = node > 0 && matches[this.functionOf(node)];

			if (found)
				weight += this.total[node];
			node = found ? this.end[node] : node + 1;
		}
		return weight;
	}
}
