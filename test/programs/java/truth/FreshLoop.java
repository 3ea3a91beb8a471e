// SPDX-License-Identifier: GPL-2.0-or-later
package truth;

/** Defined anew for each turn (Storms.Replaced). */
public final class FreshLoop implements Storms.Body {
	@Override
	public long work(long amount, Worker worker) {
		return loop(amount, worker);
	}

	private static long loop(long amount, Worker worker) {
		long x = 1;
		worker.record();
		for (long i = 0; i < amount; i++) {
			x = x * 6364136223846793005L + i;
			for (int k = 0; k < 10; k++)
				x ^= x >>> k;
		}
		return x;
	}
}
