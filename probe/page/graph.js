/*
 * The flame graph: a canvas as large as the window, never as the graph, and a second one above it for what the mouse
 * and the cursor show. A subtree that is narrower than half a pixel, or out of sight, costs one step.
 */
import {colourOf, inks} from './colours.js';
import {isolate, make} from './words.js';

export const ROW = 18;
const MIN_PX = 0.5, TEXT_PX = 24, PADDING = 3, LABELS_MAX = 2000, HATCH_PX = 5;

/* Calls visit(node, x, width, isNarrow) for what is seen of `zoomed` in so many rows; of neighbours that are too narrow once,
 * with the first. */
export function walk(profile, zoomed, width, rows, visit) {
	const {depth, end, wide} = profile, x = [], scale = wide[zoomed] ? width / wide[zoomed] : 0, last = end[zoomed];
	const isNarrow = (node, d) => node < last && depth[node] === d && wide[node] * scale < MIN_PX;

	x[depth[zoomed]] = 0;
	for (let node = zoomed; node < last;) {
		const d = depth[node], from = x[d], first = node;

		for (; isNarrow(node, d); node = end[node])
			x[d] += wide[node] * scale;
		if (node !== first) {
			visit(first, from, x[d] - from, true);
		} else if (d > rows) {
			node = end[node];
		} else {
			visit(node, from, wide[node] * scale, false);
			x[d + 1] = from;
			x[d] += wide[node] * scale;
			node++;
		}
	}
}

export class Graph {
	/* `element` scrolls; inside it two canvases stay, and a spacer is as high as all rows. */
	constructor(element, label, {onHover, onZoom, onMenu}) {
		const at = (event, what) => {
			const node = this.nodeAt(event.offsetX, event.offsetY);

			if (node >= 0)
				what(node);
		};

		Object.assign(this, {element, zoomed: 0, cursor: -1, hovered: -1, boxes: new Map()});
		this.canvas = make('canvas');
		this.top = make('canvas', {tabIndex: 0, role: 'img', 'aria-label': label});
		this.spacer = make('div');
		element.append(make('div', {className: 'layer'}, this.canvas, this.top), this.spacer);
		element.onscroll = () => this.drawIfNew();
		new ResizeObserver(() => this.drawIfNew()).observe(element);
		this.top.onmousemove = this.top.onmouseleave = (event) => {
			this.mouse = event.type === 'mousemove' ? [event.offsetX, event.offsetY] : null;
			this.hover(this.mouse ? this.nodeAt(...this.mouse) : -1);
			onHover(this);
		};
		this.top.onclick = (event) => at(event, (node) => onZoom(node, this));
		this.top.oncontextmenu = (event) => {
			event.preventDefault();
			at(event, (node) => onMenu(this, node, event));
		};
	}

	/* Shows a profile, from `zoomed` on. If that is the same frame as before the cursor and the rows in sight stay. */
	show(profile, zoomed, matches) {
		const {element, icicle} = this, of = `${icicle};${profile.names(zoomed).join(';')}`, stays = this.of === of;
		const at = stays && this.cursor >= 0 && this.profile.names(this.cursor);
		const scrolled = icicle ? element.scrollTop : this.whole - element.scrollTop;

		this.matches = matches;
		if (!stays || this.profile !== profile || this.zoomed !== zoomed) {
			Object.assign(this, {profile, zoomed, of, cursor: at ? profile.follow(at) : -1, hovered: -1});
			this.rows = 1 + profile.depth.subarray(zoomed, profile.end[zoomed]).reduce((deepest, depth) => Math.max(deepest, depth), 0);
			this.spacer.style.height = `${this.rows * ROW}px`;
			element.scrollTop = !stays ? (icicle ? 0 : this.spacer.offsetHeight) : icicle ? scrolled : this.whole - scrolled;
		}
		this.draw();
		if (this.mouse)
			this.hover(this.nodeAt(...this.mouse));
	}

	/* The node that is looked at: that under the mouse, or at the cursor, or the lowest that is whole. */
	get node() {
		return [this.hovered || -1, this.cursor, this.zoomed].find((node) => node >= 0);
	}

	/* Draws again if the size or what is in sight has changed since. */
	drawIfNew() {
		if (this.drawnAt !== this.sight)
			this.draw();
	}

	get sight() {
		return [this.element.clientWidth, this.element.clientHeight, this.element.scrollTop].join();
	}

	/* Makes a canvas as large as what is seen, in the screen's pixels. */
	context(canvas) {
		const scale = devicePixelRatio, {clientWidth: width, clientHeight: height, scrollTop: scrolled} = this.element;
		const pixels = [width, height].map((length) => Math.round(length * scale));

		Object.assign(this, {width, height, scrolled}); /* asking for it each time would take longer than drawing */
		if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) {
			[canvas.width, canvas.height] = pixels;
			Object.assign(canvas.style, {width: `${width}px`, height: `${height}px`});
		}
		const context = canvas.getContext('2d', {willReadFrequently: true}); /* drawn by the processor: hosts have no graphics */

		context.setTransform(scale, 0, 0, scale, 0, 0);
		context.clearRect(0, 0, width, height);
		return context;
	}

	/* The height of all rows, at least that of what is seen. */
	get whole() {
		return Math.max(this.rows * ROW, this.height);
	}

	/* Returns the upper edge of a node as it is seen. */
	y(node) {
		const row = this.profile.depth[node];

		return (this.icicle ? row * ROW : this.whole - (row + 1) * ROW) - this.scrolled;
	}

	draw() {
		const {profile, zoomed} = this;

		if (!profile)
			return;
		this.drawnAt = this.sight;
		this.boxes.clear(); /* what is drawn where */
		const context = this.context(this.canvas), labels = [], bars = [], lost = [], {hot, frames} = profile;
		const box = (node, x, width, isNarrow) => {
			const y = this.y(node);

			if (y <= -ROW || y >= this.height)
				return;
			this.boxes.set(node, {left: x, width});
			context.fillStyle = isNarrow ? inks.narrow : this.matches?.[profile.functionOf(node)] ? inks.match : colourOf(profile, node);
			fill(context, x, y, width);
			if (isNarrow)
				return;
			if (hot && !this.isInverted && width >= 2)
				bars.push([x, y + ROW - 4, width * hot[node] / profile.total[node], 3]);
			if (!profile.total[node] && frames.changeOf(profile.frame[node]) < 0)
				lost.push([x, y, width]);
			if (width >= TEXT_PX && labels.length < LABELS_MAX)
				labels.push([node, x, y, width]);
		};

		context.globalAlpha = 0.5;
		if (zoomed)
			[0, ...profile.path(profile.parent[zoomed])].forEach((above) => box(above, 0, this.width));
		context.globalAlpha = 1;
		if (profile.wide[0])
			walk(profile, zoomed, this.width, (this.icicle ? this.height + this.scrolled : this.whole - this.scrolled) / ROW, box);
		context.fillStyle = inks.hot;
		bars.forEach((bar) => fill(context, ...bar));
		if (lost.length) {
			Object.assign(context, {fillStyle: hatch(context), globalAlpha: 0.4});
			lost.forEach((one) => fill(context, ...one));
			context.globalAlpha = 1;
		}
		write(context, profile, labels);
		this.mark();
	}

	/* Draws the frames of the mouse and of the cursor. */
	mark() {
		const context = this.context(this.top);

		context.strokeStyle = inks.ink;
		for (const [node, line] of [[this.cursor, 2], [this.hovered, 1]]) {
			const box = this.boxes.get(node);

			context.lineWidth = line;
			if (box)
				context.strokeRect(box.left + line / 2, this.y(node) + line / 2, Math.max(box.width - line, 1), ROW - 1 - line);
		}
	}

	hover(node) {
		if (node === this.hovered)
			return;
		this.hovered = node;
		this.mark();
	}

	/* Moves the cursor to a node, and what is seen there. */
	moveTo(node) {
		Object.assign(this, {cursor: node, hovered: -1});
		const y = this.y(node);

		if (y < 0)
			this.element.scrollTop += y;
		else if (y + ROW > this.height)
			this.element.scrollTop += y + ROW - this.height;
		this.mark();
	}

	/* Returns the node at a place of the canvas, or -1. A box may be of several that are narrow. */
	nodeAt(x, y) {
		const below = y + this.scrolled, row = Math.floor((this.icicle ? below : this.whole - below) / ROW);

		for (let [node, {left, width}] of this.boxes) {
			const {depth, end, wide} = this.profile;

			if (depth[node] === row && left <= x && x < left + width) {
				while ((left += wide[node] * this.width / wide[this.zoomed]) <= x - 1e-6)
					node = end[node];
				return node;
			}
		}
		return -1;
	}
}

/* Each box by itself: a path of many takes many times as long. */
function fill(context, x, y, width, height = ROW - 1) {
	context.fillRect(x, y, Math.max(width - (width > 2 ? 0.5 : 0), 0.5), height);
}

/* Makes the strokes of what is gone. */
function hatch(context) {
	const tile = make('canvas', {width: HATCH_PX, height: HATCH_PX}), pen = tile.getContext('2d');

	pen.fillStyle = inks.text;
	for (let i = 0; i < HATCH_PX; i++)
		pen.fillRect(i, HATCH_PX - 1 - i, 1, 1);
	return context.createPattern(tile, 'repeat');
}

/* Writes names, as much of each as has room, if three letters have. */
function write(context, profile, labels) {
	Object.assign(context, {font: '11px ui-monospace, monospace', textBaseline: 'middle', direction: 'ltr', fillStyle: inks.text});
	const letter = context.measureText('m').width;

	for (const [node, x, y, width] of labels) {
		const {name} = profile.of(node), letters = Math.floor((width - 2 * PADDING) / letter);
		const text = name.length <= letters ? name : letters > 2 ? `${[...name.slice(0, 2 * letters)].slice(0, letters - 1).join('')}…` : '';

		if (text)
			context.fillText(isolate(text), x + PADDING, y + ROW / 2);
	}
}
