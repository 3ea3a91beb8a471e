// SPDX-License-Identifier: GPL-2.0-or-later
package truth;

/** Its bytes are those of a hidden class. */
final class Hidden implements Leaf {
	@Override
	public void turn(long amount, Worker worker) {
		worker.sum += inner(amount, worker);
	}

	private long inner(long amount, Worker worker) {
		return Called.burn(amount, worker) + 1;
	}
}
