// SPDX-License-Identifier: GPL-2.0-or-later
// everyday SECONDS: what programs in node do: compiled and interpreted code, JSON, regular
// expressions, sorting with a callback, promises, garbage, compression in a thread.
'use strict';
const zlib = require('zlib');
const crypto = require('crypto');

function fibonacci(n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

async function turn(round) {
  const words = Array.from({ length: 3000 }, (_, i) => `word${(i * 7919) % 1009}`);
  words.sort((a, b) => a.length - b.length || a.localeCompare(b));
  const text = JSON.stringify(Object.fromEntries(words.map((word, i) => [word, [i, round]])));
  const found = text.replace(/w(o)r(d)(\d+)/g, (_, o, d, n) => n + o);
  const packed = zlib.deflateSync(found);
  await new Promise((resolve) => zlib.gzip(found, resolve));
  // A new function now and then: not all code is compiled long ago.
  const fresh = new Function('x', `return x.map((w) => w + ${round}).filter((w) => w.length > 6)`);
  return [crypto.createHash('sha256').update(packed).digest('hex'), fresh(words).length,
          fibonacci(20), JSON.parse(text)];
}

async function main() {
  const end = 1e6 * Number(process.argv[2]);
  for (let round = 0; process.cpuUsage().user < end; round++) await turn(round);
}
main();
