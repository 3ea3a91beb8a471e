// SPDX-License-Identifier: GPL-2.0-or-later
package truth;

import java.io.RandomAccessFile;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.util.concurrent.TimeUnit;

/**
 * Two threads that allocate, `Large` and `Small`, some ten MB a second each, for ever: `truth.Allocates PATH`. In
 * PATH.clocks each has its bytes, in this order. Prints a line when both do.
 */
final class Allocates {
	private static final int HEADER = 16; // of an array, and as much for its end
	private static MappedByteBuffer page;
	static volatile Object kept;

	private Allocates() {
	}

	abstract static class Allocator implements Runnable {
		private int number;

		/** Bytes that it has allocated. */
		abstract int turn();

		@Override
		public void run() {
			long sum = 0;
			for (;;) {
				sum += turn();
				page.putLong(8 * number, sum);
				try {
					Thread.sleep(2);
				} catch (InterruptedException asked) {
					return;
				}
			}
		}

		final void start(int itsNumber) {
			number = itsNumber;
			Thread thread = new Thread(this, getClass().getSimpleName());
			thread.setDaemon(true);
			thread.start();
		}
	}

	static final class Large extends Allocator {
		@Override
		int turn() {
			kept = new byte[200_000];
			return 200_000 + HEADER;
		}
	}

	static final class Small extends Allocator {
		@Override
		int turn() {
			for (int i = 0; i < 500; i++)
				kept = new byte[200];
			return 500 * (200 + HEADER);
		}
	}

	public static void main(String[] args) throws Exception {
		try (RandomAccessFile file = new RandomAccessFile(args[0] + ".clocks", "rw")) {
			page = file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, 4096);
		}
		page.order(ByteOrder.nativeOrder());
		new Large().start(0);
		new Small().start(1);
		System.out.println("{\"allocators\": [\"Large\", \"Small\"]}");
		Thread.sleep(TimeUnit.DAYS.toMillis(1));
	}
}
