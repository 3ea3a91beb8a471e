/*
 * A profile: a tree of frames in preorder, as columns. Node 0 is the root. A profile never changes;
 * builder.js makes new ones. Nothing in here touches the document.
 */
export const KINDS = ['root', 'pod', 'container', 'process', 'thread', 'marker', 'native', 'kernel', 'jit', 'inlined',
	'interpreted', 'python'];
export const ON_CPU = '[on CPU]', OFF_CPU = '[off CPU]'; /* leaves of a profile that has both */
const SUFFIXES = {kernel: '_[k]', jit: '_[j]', inlined: '_[i]', interpreted: '_[0]', python: '_[p]'};
const HEADS = KINDS.slice(0, 5); /* these frames say whose stacks they are */

/* Makes a frame; '' and 0 stand for what isn't known. */
export const frameOf = (name, kind, file = '', line = 0, module = '') => ({name, kind, file, line, module});
const ROOT = frameOf('all', 'root');

/* Returns the label of a function: its name with the suffix of its kind. */
export const labelOf = ({name, kind}) => name + (SUFFIXES[kind] ?? '');

const keyOf = ({name, kind, file, line, module}) => `${kind};${line};${file};${module};${name}`;

/* The distinct frames of one or more profiles, {name, kind, file, line, module}: '' and 0 where these aren't
 * known. And their functions: a function has one name and one kind, its frames may have several lines. */
export class Frames {
	all = [];
	keys = null; /* of add() */
	known = {of: [], first: [], labels: [], numbers: new Map()};

	/* The functions: that `of` a frame, the `first` frame of each, their labels (the name with the suffix of its kind).
	 * They are made when somebody asks: a picture needs none. */
	get functions() {
		const {all, known} = this, {of, first, labels, numbers} = known;

		for (let frame = of.length; frame < all.length; frame++) {
			const label = labelOf(all[frame]), id = (this.isHead(frame) ? ';' : '') + label;

			if (!numbers.has(id)) {
				numbers.set(id, first.length);
				first.push(frame);
				labels.push(label);
			}
			of.push(numbers.get(id));
		}
		return known;
	}

	/* Returns the number of the frame, which is made if it is missing. */
	add(frame) {
		this.keys ??= new Map(this.all.map((one, n) => [keyOf(one), n]));
		return this.keys.get(keyOf(frame)) ?? this.push(frame);
	}

	/* Returns the number of a new frame, also if there is an equal one: of another process, perhaps. */
	push(frame) {
		const number = this.all.push(frame) - 1;

		this.keys?.set(keyOf(frame), number);
		return number;
	}

	label(frame) {
		return labelOf(this.all[frame]);
	}

	/* Returns how much a function changed, from -1 to 1: of a range that is compared with another; else 0. */
	changeOf(frame) {
		return this.isHead(frame) ? 0 : this.changes?.get(this.label(frame)) ?? 0;
	}

	/* Returns the frame as folded text has it, with its place. */
	text(frame) {
		const {name, kind, file, line} = this.all[frame];

		return labelOf({name: file ? `${name} (${file}${line ? `:${line}` : ''})` : name, kind});
	}

	/* Returns the label by which a function is found: those of heads begin with `;`, which no name has. */
	labelOf(f) {
		return (this.isHead(this.functions.first[f]) ? ';' : '') + this.functions.labels[f];
	}

	find(label) {
		return this.functions.numbers.get(label) ?? -1;
	}

	/* Returns whether the frame says whose stacks those below are; it is no function then. */
	isHead(frame) {
		return HEADS.includes(this.all[frame].kind);
	}
}

export class Profile {
	/* `frame`, `depth`, `self` and `gone`, if there is one, are columns of one length; `meta` is what is known of the whole.
	 * `gone` has own weights of another profile: where this one has nothing they are drawn, but not counted. */
	constructor(frames, columns, meta) {
		Object.assign(this, {frames, meta}, columns);
		const count = this.count = this.frame.length, {depth, self, gone} = this, open = [];
		const end = this.end = new Uint32Array(count), parent = this.parent = new Int32Array(count).fill(-1);

		for (let node = 0; node < count; node++) {
			end[node] = node + 1;
			open[depth[node]] = node;
			if (node)
				parent[node] = open[depth[node] - 1];
		}
		for (let node = count - 1; node > 0; node--)
			end[parent[node]] = Math.max(end[parent[node]], end[node]);
		const total = this.total = this.sum(self);

		this.wide = gone ? this.sum(self.map((own, node) => total[node] ? own : gone[node])) : total;
		this.weight = total[0];
	}

	/* Returns each node's weight with that of all below it. */
	sum(self) {
		const total = new Float64Array(self);

		for (let node = this.count - 1; node > 0; node--)
			total[this.parent[node]] += total[node];
		return total;
	}

	/* Returns each node's weight on CPUs, if the profile tells that and the rest apart; else null. */
	get hot() {
		const {hot} = this.frames;

		return hot === undefined ? null : this.heat ??= this.sum(this.self.map((own, node) => node && this.frame[node] === hot ? own : 0));
	}

	get mostSelf() {
		return this.most ??= this.self.reduce((most, own) => Math.max(most, own), 0);
	}

	label(node) {
		return labelOf(this.of(node));
	}

	functionOf(node) {
		return node ? this.frames.functions.of[this.frame[node]] : -1;
	}

	/* Returns the frame of a node. */
	of(node) {
		return node ? this.frames.all[this.frame[node]] : ROOT;
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

	/* Returns the numbers of the frames from the root's child to `node`. */
	stack(node) {
		return this.path(node).map((at) => this.frame[at]);
	}

	/* Returns the path of a node by names, which another profile may have, too. */
	names(node) {
		return this.stack(node).map((frame) => this.frames.text(frame));
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
		const {count, depth, frames} = this, {first} = frames.functions;
		const self = new Float64Array(first.length), total = new Float64Array(first.length);
		const inside = new Uint32Array(first.length), open = [];
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
			.filter((row) => row.total && !frames.isHead(first[row.function]))
			.sort((a, b) => b.total - a.total || b.self - a.self || a.function - b.function);
	}

	/* Returns the nodes at or below `from` whose function is one of these, and that lie in no other such node. */
	outermost(isOne, from = 0) {
		const nodes = [];

		for (let node = from; node < this.end[from];) {
			const found = isOne(this.functionOf(node));

			if (found)
				nodes.push(node);
			node = found ? this.end[node] : node + 1;
		}
		return nodes;
	}

	/* Returns the weight of the stacks at or below `from` that have a function of `matches`, each once. */
	matched(matches, from = 0) {
		const isOne = (f) => matches[f] === 1, isIn = this.path(from).some((node) => isOne(this.functionOf(node)));

		return isIn ? this.total[from] : this.outermost(isOne, from).reduce((sum, node) => sum + this.total[node], 0);
	}
}
