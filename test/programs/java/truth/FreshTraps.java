// SPDX-License-Identifier: GPL-2.0-or-later
package truth;

/** Defined anew for each turn (Storms.Trapped). What is rare comes when all is compiled. */
public final class FreshTraps implements Storms.Body {
	private long state = 1;
	private Object kept = this;

	@Override
	public long work(long amount, Worker worker) {
		for (long i = -1; i < amount / 16; i++)
			state += first(i, (int)Math.max(0, i >> 13), worker);
		return state;
	}

	private long first(long i, int kind, Worker worker) {
		return second(i, kind, worker) + 1;
	}

	private long second(long i, int kind, Worker worker) {
		if (i < 0)
			worker.record();
		if (kind == 1)
			kept = Long.valueOf(i);
		else if (kind == 2)
			kept = "text";
		else if (kind == 3)
			kept = null;
		else if (kind > 3)
			kept = kind % 2 == 0 ? this : (Object)"other";
		if (kept instanceof FreshTraps)
			return ((FreshTraps)kept).state ^ i;
		return kept == null ? i * 3 : kept.hashCode() + i;
	}
}
