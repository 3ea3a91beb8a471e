// SPDX-License-Identifier: GPL-2.0-or-later
package truth;

/** native.c. */
final class Native {
	private Native() {
	}

	static native long burn(long amount);

	/** back.back(amount, worker) */
	static native long call(Stubs.Back back, long amount, Worker worker);
}
