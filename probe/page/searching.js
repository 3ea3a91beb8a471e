/* Asks the worker which names match, and gives up a second after it is ready: an expression may take years. */
const LIMIT_MS = 1000;

const policy = window.trustedTypes?.createPolicy('stackprobe', {createScriptURL: () => '/ui/search.js'});

export class Searching {
	/* Returns {matches}, a byte for each name, or {error}; null: a later search came between. */
	find(names, pattern) {
		this.end(null);
		return new Promise((done) => {
			this.done = done;
			this.number = (this.number ?? 0) + 1;
			this.worker ??= this.begin();
			if (this.isReady)
				this.limit();
			this.worker.postMessage({number: this.number, pattern, flags: pattern === pattern.toLowerCase() ? 'i' : '',
				names: this.known === names && this.count === names.length ? null : names});
			Object.assign(this, {known: names, count: names.length});
		});
	}

	begin() {
		const worker = new Worker(policy ? policy.createScriptURL('') : '/ui/search.js');

		this.known = null;
		this.isReady = false;
		worker.onerror = () => this.end({error: 'the search did not begin'});
		worker.onmessage = ({data}) => {
			if (data.ready) {
				this.isReady = true;
				this.limit();
			} else if (data.number === this.number) {
				this.finish(data);
			}
		};
		return worker;
	}

	limit() {
		this.timer = setTimeout(() => this.end({error: `the expression took more than ${LIMIT_MS} ms`}), LIMIT_MS);
	}

	finish(result) {
		clearTimeout(this.timer);
		this.done?.(result);
		this.done = null;
	}

	/* Ends what is under way: the worker may be stuck in it. */
	end(result) {
		if (!this.done)
			return;
		this.worker.terminate();
		this.worker = null;
		this.finish(result);
	}
}
