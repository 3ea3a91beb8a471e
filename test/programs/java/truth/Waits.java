// SPDX-License-Identifier: GPL-2.0-or-later
package truth;

import java.io.InputStream;
import java.io.RandomAccessFile;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads that block, each in its own way, for ever: `truth.Waits PATH`. A thread's name is its class's. In
 * PATH.clocks each has the ns it was in its waits, in their order. Prints a line when all of them wait.
 */
final class Waits {
	private static MappedByteBuffer page;

	private Waits() {
	}

	abstract static class Waiter implements Runnable {
		private int number;

		/** A wait; many ms long. */
		abstract void turn() throws Exception;

		@Override
		public void run() {
			long sum = 0;
			for (;;) {
				long began = System.nanoTime();
				try {
					turn();
				} catch (Exception wrong) {
					wrong.printStackTrace();
					System.exit(1);
				}
				sum += System.nanoTime() - began;
				page.putLong(8 * number, sum);
			}
		}

		final void start(int itsNumber) {
			number = itsNumber;
			Thread thread = new Thread(this, getClass().getSimpleName());
			thread.setDaemon(true);
			thread.start();
		}
	}

	static final class Sleeping extends Waiter {
		@Override
		void turn() throws Exception {
			Thread.sleep(30);
		}
	}

	static final class Parking extends Waiter {
		@Override
		void turn() {
			LockSupport.parkNanos(30_000_000);
		}
	}

	/** Object.wait, until its time is over. */
	static final class Waiting extends Waiter {
		@Override
		void turn() throws Exception {
			synchronized (this) {
				wait(30);
			}
		}
	}

	private static final Object MONITOR = new Object();
	private static final ReentrantLock LOCK = new ReentrantLock();
	private static final BlockingQueue<Object> QUEUE = new ArrayBlockingQueue<>(1);

	/** Has both locks most of the time. */
	static final class Holding extends Waiter {
		@Override
		void turn() throws Exception {
			synchronized (MONITOR) {
				LOCK.lock();
				Thread.sleep(40);
				LOCK.unlock();
			}
			Thread.sleep(1);
		}
	}

	static final class Entering extends Waiter {
		@Override
		void turn() throws Exception {
			synchronized (MONITOR) {
				page.putLong(4000, 1);
			}
			Thread.sleep(2);
		}
	}

	static final class Locking extends Waiter {
		@Override
		void turn() throws Exception {
			LOCK.lock();
			LOCK.unlock();
			Thread.sleep(2);
		}
	}

	static final class Taking extends Waiter {
		@Override
		void turn() throws Exception {
			QUEUE.take();
		}
	}

	static final class Putting extends Waiter {
		@Override
		void turn() throws Exception {
			QUEUE.put("one");
			Thread.sleep(25);
		}
	}

	/** In a system call. */
	static final class Reading extends Waiter {
		private final InputStream in;

		Reading(InputStream in) {
			this.in = in;
		}

		@Override
		void turn() throws Exception {
			in.read();
		}
	}

	static final class Writing extends Waiter {
		private final Socket out;

		Writing(Socket out) {
			this.out = out;
		}

		@Override
		void turn() throws Exception {
			Thread.sleep(20);
			out.getOutputStream().write(1);
		}
	}

	/** Its caller is compiled code. */
	static final class Deep extends Waiter {
		private int warm;

		@Override
		void turn() {
			if (warm == 0)
				for (; warm < 30000; warm++)
					down(20, false);
			down(20, true);
		}

		private static int down(int left, boolean park) {
			if (left > 0)
				return down(left - 1, park) + 1;
			if (park)
				LockSupport.parkNanos(30_000_000);
			return 0;
		}
	}

	public static void main(String[] args) throws Exception {
		try (RandomAccessFile file = new RandomAccessFile(args[0] + ".clocks", "rw")) {
			page = file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, 4096);
		}
		page.order(ByteOrder.nativeOrder());
		ServerSocket server = new ServerSocket(0);
		Socket out = new Socket("127.0.0.1", server.getLocalPort());
		Waiter[] waiters = { new Sleeping(), new Parking(), new Waiting(), new Holding(), new Entering(),
				     new Locking(), new Taking(), new Putting(),
				     new Reading(server.accept().getInputStream()), new Writing(out), new Deep() };
		StringBuilder names = new StringBuilder();
		for (int i = 0; i < waiters.length; i++) {
			waiters[i].start(i);
			names.append(i > 0 ? ", \"" : "\"").append(waiters[i].getClass().getSimpleName()).append('"');
		}
		for (int i = 0; i < waiters.length; i++)
			while (page.getLong(8 * i) == 0)
				Thread.sleep(10);
		System.out.println("{\"waiters\": [" + names + "]}");
		Thread.sleep(TimeUnit.DAYS.toMillis(1));
	}
}
