/* A worker: which of some names match a regular expression. The page ends it when it takes too long. */
let names = [];

onmessage = ({data}) => {
	names = data.names ?? names;
	try {
		const pattern = new RegExp(data.pattern, data.flags);

		postMessage({matches: Uint8Array.from(names, (name) => pattern.test(name))});
	} catch (error) {
		postMessage({error: error.message});
	}
};
