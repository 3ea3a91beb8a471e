// SPDX-License-Identifier: GPL-2.0-or-later
package truth;

/** What all ways to call come to in the end. */
final class Called {
	private Called() {
	}

	static long burn(long amount, Worker worker) {
		long x = 1;
		worker.record();
		for (long i = 0; i < amount; i++)
			x = x * 6364136223846793005L + i;
		return x;
	}
}
