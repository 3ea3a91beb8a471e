/* Where profiles come from: the next seconds, what comes from now on, what was collected so far. */
import {follow, getBytes, getJson, partsOf} from './api.js';
import {Builder, fromFrames, fromJson, hotCold} from './builder.js';
import {labelOf} from './profile.js';
import {rangeBefore, whose} from './timeline.js';
import {isolate} from './words.js';

const LIVE_S = 2;

/* The query that chooses processes: none, one, or several. */
function who(pids) {
	const list = String(pids).split(',').filter(Boolean);

	return list.length > 1 ? `pids=${encodeURIComponent(list)}` : list.length ? `pid=${encodeURIComponent(list[0])}` : '';
}

function path(probe, extension, ...query) {
	const {name, view} = partsOf(probe);

	return `/flamegraph/${name}.${extension}?${[view, ...query].filter(Boolean).join('&')}`;
}

/* Returns by label how much of the largest change a function's is: from -1 to 1. */
function shares(changes) {
	const size = ({total, self}) => total.change ? total.after - total.before : self.after - self.before;
	const most = Math.max(...changes.map((one) => Math.abs(size(one))));

	return new Map(changes.map((one) => [labelOf(one.name, one.kind), size(one) / most]));
}

export class Taking {
	/* show(profile) gets each profile; busy(text) says what is under way, '' when nothing is; compared(told) gets what
	 * changed. */
	constructor({show, busy, say, compared}) {
		Object.assign(this, {show, busy, say, compared, going: null, paused: null});
		document.addEventListener('visibilitychange', () => this.visible(!document.hidden));
	}

	stop() {
		this.going?.abort();
		this.going = this.paused = this.live = null;
		clearInterval(this.clock);
		this.busy('');
	}

	/* Runs work(signal), and tells of its error unless something else began meanwhile. */
	async run(work) {
		this.stop();
		const going = this.going = new AbortController();

		this.compared(null);

		try {
			await work(going.signal);
		} catch (error) {
			if (this.going === going && !going.signal.aborted)
				this.say(error.message, true);
		}
		if (this.going === going && !this.paused)
			this.stop();
	}

	/* Shows a profile with what it is of: what the user asks for meanwhile may be something else. */
	tell(profile, {of, probe}) {
		Object.assign(profile.meta, {of, probe});
		this.show(profile);
	}

	/* Takes the next seconds of some processes, by a probe, or by those of time on and off CPUs at once (`a+b`). */
	take({probe, pids, of, seconds}) {
		return this.run(async (signal) => {
			const get = (name) => getBytes(path(name, 'frames', who(pids), `seconds=${seconds}`), {signal});
			const until = Date.now() + 1000 * seconds;
			const tell = () => this.busy(isolate(`${probe} of ${of || pids || 'the chosen processes'}: `
				+ `${Math.max(0, Math.round((until - Date.now()) / 1000))} s left`));

			tell();
			this.clock = setInterval(tell, 1000);
			const parts = await Promise.all(probe.split('+').map(get));

			if (!signal.aborted)
				this.tell(parts.length > 1 ? hotCold(...parts.map(fromFrames)) : fromFrames(parts[0]), {of, probe});
		});
	}

	/* Shows what has been collected of a probe since its last file. */
	open({probe, pids, of}) {
		return this.run(async (signal) => {
			this.busy(`${probe}: what was collected so far`);
			const bytes = await getBytes(path(probe, 'frames', who(pids), partsOf(probe).age), {signal});

			if (!signal.aborted)
				this.tell(fromFrames(bytes), {of, probe});
		});
	}

	/* Shows a range of history, and what changed in it if it is compared with another. */
	range(view) {
		const {probe, of, from, until, against, rival} = view;

		return this.run(async (signal) => {
			const query = [whose(view), `from=${encodeURIComponent(from)}`, `until=${encodeURIComponent(until)}`];
			const before = rangeBefore(view);

			this.busy(`${probe}: a range of history`);
			const profile = fromFrames(await getBytes(path(probe, 'frames', ...query), {signal}));

			if (signal.aborted)
				return;
			if (against || rival) {
				try {
					const told = await getJson(`/changes?${['top=1000', `probe=${partsOf(probe).name}`, partsOf(probe).view, ...query,
						`before_from=${before.from}`, `before_until=${before.until}`, before.whose].filter(Boolean).join('&')}`, {signal});

					profile.frames.changes = shares(told.changes);
					this.compared(told);
				} catch (error) {
					if (!signal.aborted)
						this.say(error.message, true);
				}
			}
			if (!signal.aborted)
				this.tell(profile, {of, probe});
		});
	}

	/* Adds up what comes, each 2 s, to what `live` has. A hidden tab asks for nothing; what came before stays. */
	follow(view, live = {view, builder: new Builder(), meta: {}}) {
		const {probe, pids, of} = view;

		if (document.hidden) {
			this.stop();
			this.paused = live;
			return null;
		}
		return this.run(async (signal) => {
			let times = null;

			this.live = live;
			this.busy(isolate(`${probe} of ${of || pids || 'the chosen processes'}: live`));
			await follow(path(probe, 'json', who(pids), `every=${LIVE_S}`), (line) => {
				if (line.missed)
					this.say(`${line.missed} intervals are missing: the page was too slow.`, true);
				else if (line.ended)
					throw new Error(line.ended);
				else if (line.from)
					times = line;
				else if (line.children && !signal.aborted)
					this.add(live, times, fromJson(line, {}));
			}, {signal});
		});
	}

	/* Adds an interval: its tree, and what its line of time tells of it. */
	add(live, times, profile) {
		const {meta} = live;

		live.builder.merge(profile);
		for (const key of ['lost', 'truncated', 'left_out'])
			meta[key] = (meta[key] ?? 0) + times[key];
		meta.from ??= times.from / 1000;
		meta.until = times.until / 1000;
		meta.seconds = (meta.seconds ?? 0) + (times.until - times.from) / 1000;
		meta.period_ns = times.period_ns;
		this.tell(live.builder.finish({...this.meta(live.view.probe), ...meta}), live.view);
	}

	visible(isVisible) {
		if (!isVisible && this.live) {
			const {live} = this;

			this.stop();
			this.paused = live;
		} else if (isVisible && this.paused) {
			this.follow(this.paused.view, this.paused);
		}
	}
}
