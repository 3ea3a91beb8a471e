// SPDX-License-Identifier: GPL-2.0-or-later
package truth;

import java.util.concurrent.ThreadLocalRandom;

/** Gives each leaf its turns, in random order and of random length, and counts their CPU time. */
public final class Worker implements Runnable {
	private static final int RECORDED = 32; // turns of each leaf, and then one of
	private static final int SELDOM = 64;
	private static final int CALLS = 200, TOLD = 8, FIRST = 5000;
	private static final long WARM_NS = 1_000_000, TURN_NS = 6_000_000;

	final String name;
	private final Leaf[] leaves;
	private final Recorder recorder;
	private final int[] turns, calls;
	private final long[] amounts, spent; // spent: since all was warm
	private int number; // of the leaf whose turn it is
	private int asked; // how many more stacks shall be told
	volatile boolean warm;
	long sum; // what the leaves have computed

	Worker(String name, Recorder recorder, Leaf... leaves) {
		this.name = name;
		this.recorder = recorder;
		this.leaves = leaves;
		turns = new int[leaves.length];
		calls = new int[leaves.length];
		for (int i = 0; i < leaves.length; i++) {
			Leaf.Below below = leaves[i].getClass().getAnnotation(Leaf.Below.class);
			calls[i] = below == null ? CALLS : below.calls();
		}
		amounts = new long[leaves.length];
		spent = new long[leaves.length];
		java.util.Arrays.fill(amounts, FIRST);
		recorder.add(this, leaves);
	}

	@Override
	public void run() {
		ThreadLocalRandom random = ThreadLocalRandom.current();
		for (;;) {
			number = warm ? drawn(random) : (number + 1) % leaves.length;
			try {
				one(random);
			} catch (Throwable wrong) {
				wrong.printStackTrace();
				System.exit(1);
			}
			if (!warm && number == 0 && turns[0] > RECORDED)
				warm = true;
		}
	}

	/** Of two, the one that has had less, so that all have about as much. */
	private int drawn(ThreadLocalRandom random) {
		int one = random.nextInt(leaves.length), other = random.nextInt(leaves.length);
		return spent[one] < spent[other] ? one : other;
	}

	private void one(ThreadLocalRandom random) throws Throwable {
		boolean tells = turns[number] < RECORDED || turns[number] % SELDOM == 0;
		asked = tells && turns[number] % 2 == 0 ? TOLD : 0;
		long part = (amounts[number] / 2 + random.nextLong(amounts[number] + 1)) / calls[number] + 1;
		long amount = part * calls[number];
		long wall = System.nanoTime(), began = recorder.cpu();
		for (int i = 0; i < calls[number]; i++)
			leaves[number].turn(part, this);
		long took = recorder.cpu() - began;
		recorder.spent(this, number, took, amount);
		if (warm)
			spent[number] += took > 0 ? took : System.nanoTime() - wall;
		if (turns[number]++ % 2 == 1) // the others may have told their stacks
			fit(took > 0 ? took : System.nanoTime() - wall);
	}

	/** The next turn's amount, by how long this one took: what is compiled becomes faster. */
	private void fit(long took) {
		long wanted = warm ? TURN_NS : WARM_NS;
		double factor = Math.max(0.25, Math.min(2, (double)wanted / Math.max(took, 1)));
		amounts[number] = Math.max(64, (long)(amounts[number] * (factor + 1) / 2));
	}

	/** Writes down the caller's stack, sometimes. */
	public void record() {
		if (asked > 0) {
			asked--;
			recorder.record(leaves[number]);
		}
	}
}
