// SPDX-License-Identifier: GPL-2.0-or-later
package stackprobe.jfr1;

import java.io.IOException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Recording;

/**
 * Recordings, one a window: the next begins before the last one ends, and each event counts in the window
 * in which it ends. Who asks says when a window has ended, which is a moment ago: what came since counts in
 * the next. They are read on a thread of our own, which ends with the session, or when no command
 * comes for a while.
 */
final class Session {
	static final List<String> PROBES = Arrays.asList("oncpu", "offcpu", "mem");
	private static final long BYTES_MAX = 128L << 20; // of a recording, on the VM's disk
	private static final String REPOSITORY = "jdk.jfr.repository";

	private final Path folder;
	private final Set<String> probes;
	private final Events events;
	private final int idleSeconds;
	private final boolean hadRepository = repository() != null;
	private final LinkedBlockingQueue<Runnable> commands = new LinkedBlockingQueue<>();
	private final Thread thread;
	private Recording recording;
	private Instant border; // where it began
	private Window window;
	private volatile boolean over;

	Session(Path folder, String probes, int periodMs, int idleSeconds) {
		this.folder = folder;
		this.probes = new HashSet<>(Arrays.asList(probes.split("\\+")));
		this.probes.retainAll(PROBES);
		this.idleSeconds = idleSeconds;
		events = new Events(this.probes, periodMs);
		thread = new Thread(null, this::serve, "stackprobe-jfr");
		thread.setDaemon(true);
		thread.setPriority(Thread.MIN_PRIORITY);
		thread.setContextClassLoader(null);
	}

	/** What on-CPU samples are: `cputime` (JDK 25 and later), or `execution`. */
	String source() {
		return events.hasCpuTime() ? "cputime" : "execution";
	}

	boolean runs() {
		return !over;
	}

	void begin() throws Exception {
		thread.start();
		call(this::beginRecording);
	}

	void dump(long sequence, long sinceUs, long toUs) throws Exception {
		call(() -> endWindow(sequence, instant(sinceUs), instant(toUs)));
	}

	/** Waits until the thread has ended, and a moment at most. */
	void stop() {
		over = true;
		commands.add(() -> { });
		try {
			thread.join(5000);
		} catch (InterruptedException asked) {
			Thread.currentThread().interrupt();
		}
	}

	/** Serves commands, until told to stop or forgotten. */
	private void serve() {
		try {
			while (!over) {
				Runnable command = commands.poll(idleSeconds, TimeUnit.SECONDS);
				if (command == null) {
					over = true;
					Files.removeAll(folder);
				} else {
					command.run();
				}
			}
		} catch (InterruptedException asked) {
			over = true;
		} finally {
			endRecording();
		}
	}

	private interface Task {
		void run() throws IOException;
	}

	private void call(Task task) throws Exception {
		FutureTask<Void> future = new FutureTask<>(() -> {
			task.run();
			return null;
		});
		commands.add(future);
		try {
			future.get(idleSeconds, TimeUnit.SECONDS);
		} catch (ExecutionException failed) {
			throw failed.getCause() instanceof Exception ? (Exception)failed.getCause() : failed;
		}
	}

	private Recording newRecording() {
		Recording made = new Recording();

		made.setName("stackprobe");
		made.setToDisk(true);
		made.setMaxSize(BYTES_MAX);
		events.enable(made);
		made.start();
		return made;
	}

	private void beginRecording() {
		recording = newRecording();
		border = Instant.now();
		window = new Window(border, events);
	}

	private static Instant instant(long us) {
		return Instant.ofEpochSecond(us / 1_000_000, us % 1_000_000 * 1000);
	}

	private void endWindow(long sequence, Instant since, Instant told) throws IOException {
		Recording last = recording;
		Window own = window;
		Instant begun = border;
		Path file = folder.resolve(Files.WINDOW);

		recording = null; // if the next can't begin there is none
		boolean cut;
		try {
			recording = newRecording();
			border = Instant.now();
			last.stop();
			Files.remove(file);
			last.dump(file);
			cut = last.getSize() >= BYTES_MAX * 9 / 10;
		} finally {
			last.close();
		}
		// By a clock that may be set: a time that can't be is not taken.
		window = own.end(told.isAfter(own.from()) && told.isBefore(border) ? told : border, since, cut);
		try {
			own.read(file, begun, border, window);
			for (String probe : PROBES) {
				if (probes.contains(probe))
					Files.write(folder, Files.stacksName(probe), own.text(probe, sequence));
			}
		} finally {
			Files.remove(file);
		}
	}

	private void endRecording() {
		if (recording != null)
			recording.close();
		recording = null;
		// The folder in which the VM kept our recordings: it makes it again when there is need.
		if (!hadRepository && repository() != null && FlightRecorder.getFlightRecorder().getRecordings().isEmpty())
			Files.remove(repository());
	}

	/** The folder in which the VM keeps recordings; null: there is none, or it doesn't tell (before 14). */
	private static Path repository() {
		String name = System.getProperty(REPOSITORY);

		return name != null && java.nio.file.Files.isDirectory(Paths.get(name)) ? Paths.get(name) : null;
	}
}
