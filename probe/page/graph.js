/*
 * The flame graph: a canvas as large as the window, never as the graph, and a second one above it for what the mouse
 * and the cursor show. A subtree that is narrower than half a pixel, or out of sight, costs one step.
 */
import {cutText, isolate} from './words.js';

export const ROW = 18;
const MIN_PX = 0.5, TEXT_PX = 24, PADDING = 3, LABELS_MAX = 2000;

export class Graph {
	/* `element` scrolls; inside it has two canvases that stay, and a spacer as high as all rows.  */
	constructor(element, {colours, onHover, onZoom, onMenu}) {
		this.element = element;
		[this.canvas, this.top] = element.querySelectorAll('canvas');
		this.spacer = element.querySelector('.spacer');
		this.colours = colours;
		this.icicle = false;
		this.profile = null;
		this.zoomed = this.cursor = this.rows = this.height = this.scrolled = 0;
		this.hovered = -1;
		this.matches = null;
		element.addEventListener('scroll', () => this.later());
		this.top.addEventListener('mousemove', (event) => {
			this.mouse = [event.offsetX, event.offsetY];
			this.hover(this.nodeAt(...this.mouse));
			onHover(this.hovered);
		});
		this.top.addEventListener('mouseleave', () => {
			this.mouse = null;
			this.hover(-1);
			onHover(-1);
		});
		this.top.addEventListener('click', (event) => {
			const node = this.nodeAt(event.offsetX, event.offsetY);

			if (node >= 0)
				onZoom(node);
		});
		this.top.addEventListener('contextmenu', (event) => {
			const node = this.nodeAt(event.offsetX, event.offsetY);

			event.preventDefault();
			if (node >= 0)
				onMenu(node, event.clientX, event.clientY);
		});
		new ResizeObserver(() => this.later()).observe(element);
	}

	/* Shows a profile, from `zoomed` on. `stays`: the cursor and the rows in sight stay where they are. */
	show(profile, zoomed, stays) {
		const at = stays && this.profile && this.hasCursor ? this.profile.names(this.cursor) : null;
		const scrolled = this.icicle ? this.element.scrollTop : this.whole - this.element.scrollTop;

		Object.assign(this, {profile, zoomed, cursor: at ? profile.follow(at) : zoomed, hovered: -1});
		this.hasCursor &&= Boolean(at);
		this.layOut();
		if (stays && this.wasShown)
			this.element.scrollTop = this.icicle ? scrolled : this.whole - scrolled;
		else
			this.element.scrollTop = this.icicle ? 0 : this.spacer.offsetHeight;
		this.wasShown = true;
		this.draw();
		if (this.mouse)
			this.hover(this.nodeAt(...this.mouse));
	}

	layOut() {
		const {depth, end, height} = this.profile;
		let deepest = depth[this.zoomed];

		for (let node = this.zoomed; node < end[this.zoomed]; node++) {
			if (depth[node] > deepest)
				deepest = depth[node];
		}
		this.rows = this.profile.count ? Math.min(height, deepest + 1) : 1;
		this.spacer.style.height = `${this.rows * ROW}px`;
	}

	/* Draws again if the size or what is in sight has changed since. */
	later() {
		this.pending ||= requestAnimationFrame(() => {
			this.pending = 0;
			if (this.drawnAt !== this.sight)
				this.draw();
		});
	}

	get sight() {
		return [this.element.clientWidth, this.element.clientHeight, this.element.scrollTop].join();
	}

	/* Makes a canvas as large as what is seen, in the screen's pixels. */
	context(canvas) {
		const scale = devicePixelRatio || 1, width = this.width = this.element.clientWidth;
		const height = this.height = this.element.clientHeight;

		if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
			canvas.width = Math.round(width * scale);
			canvas.height = Math.round(height * scale);
			canvas.style.width = `${width}px`;
			canvas.style.height = `${height}px`;
		}
		const context = canvas.getContext('2d', {willReadFrequently: true}); /* drawn by the processor: hosts have no graphics */

		this.scrolled = this.element.scrollTop; /* asking for it each time would take longer than drawing */
		context.setTransform(scale, 0, 0, scale, 0, 0);
		context.clearRect(0, 0, width, height);
		return context;
	}

	/* The height of all rows, at least that of what is seen. */
	get whole() {
		return Math.max(this.rows * ROW, this.height);
	}

	/* Returns the upper edge of a row as it is seen. */
	y(row) {
		return (this.icicle ? row * ROW : this.whole - (row + 1) * ROW) - this.scrolled;
	}

	/* Calls visit(node, x, width) for all that is seen; of neighbours that are too narrow once, with the first. */
	walk(visit) {
		const {depth, end, total} = this.profile, zoomed = this.zoomed, x = [];
		const scale = total[zoomed] ? this.width / total[zoomed] : 0, first = depth[zoomed];
		const limit = (this.icicle ? this.height + this.scrolled : this.whole - this.scrolled) / ROW;

		x[first] = 0;
		for (let node = zoomed; node < end[zoomed];) {
			const d = depth[node], width = total[node] * scale;

			if (width < MIN_PX || d > limit) {
				node = this.narrow(node, d, x, scale, visit);
				continue;
			}
			visit(node, x[d], width);
			x[d + 1] = x[d];
			x[d] += width;
			node++;
		}
	}

	/* Goes over siblings that are too narrow to be seen one by one. */
	narrow(node, d, x, scale, visit) {
		const {depth, end, total, count} = this.profile, from = x[d], first = node;

		while (node < count && depth[node] === d && total[node] * scale < MIN_PX) {
			x[d] += total[node] * scale;
			node = end[node];
		}
		if (node === first)
			return end[node]; /* out of sight */
		visit(first, from, x[d] - from, true);
		return node;
	}

	draw() {
		if (!this.profile)
			return;
		this.drawnAt = this.sight;
		const context = this.context(this.canvas), labels = [], paths = new Map(), bars = [], {hot} = this.profile;
		const box = (node, x, width, narrow) => {
			const y = this.y(this.profile.depth[node]);

			if (y <= -ROW || y >= this.height)
				return;
			const colour = narrow ? this.colours.narrow : this.matches?.[this.profile.functionOf(node)]
				? this.colours.match : this.colours.of(this.profile, node);

			if (!paths.has(colour))
				paths.set(colour, []);
			paths.get(colour).push(x, y, width);
			if (hot && !this.isInverted && width >= 2 && !narrow)
				bars.push(x, y + ROW - 4, width * hot[node] / this.profile.total[node]);
			if (width >= TEXT_PX && !narrow && labels.length < LABELS_MAX)
				labels.push([node, x, y, width]);
		};

		if (this.zoomed) {
			for (const above of [0, ...this.profile.path(this.profile.parent[this.zoomed])])
				box(above, 0, this.width);
			paths.forEach((boxes, colour) => fill(context, colour, boxes, 0.5));
			paths.clear();
		}
		if (this.profile.weight)
			this.walk(box);
		paths.forEach((boxes, colour) => fill(context, colour, boxes, 1));
		fill(context, this.colours.hot, bars, 1, 3);
		this.write(context, labels);
		this.mark();
	}

	write(context, labels) {
		context.font = this.colours.font;
		context.textBaseline = 'middle';
		context.direction = 'ltr';
		context.fillStyle = this.colours.text;
		for (const [node, x, y, width] of labels) {
			const name = node ? this.profile.frames.names[this.profile.frame[node]] : 'all';
			const text = cutText(context, name, width - 2 * PADDING);

			if (text)
				context.fillText(isolate(text), x + PADDING, y + ROW / 2);
		}
	}

	/* Draws the frames of the mouse and of the cursor. */
	mark() {
		const context = this.context(this.top);

		context.strokeStyle = this.colours.cursor;
		for (const [node, line] of [[this.cursor, 2], [this.hovered, 1]]) {
			const box = node >= 0 && this.boxOf(node);

			if (!box || (node === this.cursor && !this.hasCursor))
				continue;
			context.lineWidth = line;
			context.strokeRect(box.x + line / 2, box.y + line / 2, Math.max(box.width - line, 1), ROW - 1 - line);
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
		this.cursor = node;
		this.hasCursor = true;
		this.hovered = -1;
		const y = this.y(this.profile.depth[node]);

		if (y < 0)
			this.element.scrollTop += y;
		else if (y + ROW > this.height)
			this.element.scrollTop += y + ROW - this.height;
		this.mark();
	}

	/* Returns where a node is drawn; null: out of sight. */
	boxOf(node) {
		const {depth, end, parent, total} = this.profile, scale = this.width / total[this.zoomed];
		let x = 0;

		if (node <= this.zoomed && end[node] >= end[this.zoomed])
			return {x, y: this.y(depth[node]), width: this.width};
		if (node < this.zoomed || node >= end[this.zoomed])
			return null;
		for (let at = node; at > this.zoomed; at = parent[at]) {
			for (let before = parent[at] + 1; before < at; before = end[before])
				x += total[before] * scale;
		}
		return {x, y: this.y(depth[node]), width: total[node] * scale};
	}

	/* Returns the node at a place of the canvas, or -1. */
	nodeAt(x, y) {
		if (!this.profile?.weight)
			return -1;
		const {depth, end, total} = this.profile;
		const below = y + this.scrolled, scale = this.width / total[this.zoomed];
		const row = Math.floor((this.icicle ? below : this.whole - below) / ROW);
		let node = this.zoomed, from = 0;

		if (row <= depth[node])
			return row < 0 ? -1 : [0, ...this.profile.path(node)][row];
		for (let d = depth[node] + 1; d <= row; d++) {
			let child = node + 1;

			while (child < end[node] && from + total[child] * scale <= x) {
				from += total[child] * scale;
				child = end[child];
			}
			if (child >= end[node])
				return -1;
			node = child;
		}
		return node;
	}
}

function fill(context, colour, boxes, opacity, height = ROW - 1) {
	context.globalAlpha = opacity;
	context.fillStyle = colour;
	context.beginPath();
	for (let i = 0; i < boxes.length; i += 3)
		context.rect(boxes[i], boxes[i + 1], Math.max(boxes[i + 2] - (boxes[i + 2] > 2 ? 0.5 : 0), 0.5), height);
	context.fill();
	context.globalAlpha = 1;
}
