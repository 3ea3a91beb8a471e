/* A worker: which of some names match a regular expression. The page ends it when it takes too long. */
let names = [];

postMessage({ready: true});

onmessage = ({data}) => {
	if (data.names)
		names = data.names;
	try {
		const pattern = new RegExp(data.pattern, data.flags);

		postMessage({number: data.number, matches: Uint8Array.from(names, (name) => pattern.test(name))});
	} catch (error) {
		postMessage({number: data.number, error: error.message});
	}
};
