// SPDX-License-Identifier: GPL-2.0-or-later
package stackprobe.jfr1;

import java.lang.instrument.Instrumentation;
import java.nio.file.Path;
import java.nio.file.Paths;

/**
 * What the VM calls when it is asked to load the jar. Options, separated by commas:
 *
 *     start,FOLDER,PROBES,PERIOD_MS,IDLE_S,SEQUENCE   a recording begins; PROBES as in oncpu+offcpu+mem
 *     dump,FOLDER,SEQUENCE                            the window ends, its stacks are written, the next begins
 *     dump,FOLDER,SEQUENCE,SINCE_US,TO_US             the same, at TO_US; waits count from SINCE_US on
 *     stop,FOLDER                                     ends it; the files go
 *
 * Times are microseconds since 1970. IDLE_S: without a command for so long it stops by itself, for who started it has gone. When a command
 * returns it is done; what became of it stands in FOLDER/jfr-state.txt (doc/formats.md). Nothing is
 * thrown, for the VM would print it to its program's standard error.
 */
public final class Agent {
	private static Session session;

	private Agent() {
	}

	public static synchronized void agentmain(String options, Instrumentation instrumentation) {
		String[] words = options == null ? new String[0] : options.split(",");

		if (words.length < 2)
			return;
		Path folder = Paths.get(words[1]);
		try {
			if (words[0].equals("start") && words.length == 6)
				start(folder, words);
			else if (words[0].equals("dump") && (words.length == 3 || words.length == 5))
				dump(folder, words);
			else if (words[0].equals("stop"))
				stop(folder);
			else
				Files.tellState(folder, "failed", "0", "unknown command");
		} catch (Throwable wrong) { // also an Error: a class of JFR's that isn't there
			Files.tellState(folder, "failed", "0", Files.plain(wrong.toString()));
		}
	}

	private static void start(Path folder, String[] words) throws Exception {
		String missing = missing();

		if (missing != null) {
			Files.tellState(folder, "absent", words[5], missing);
			return;
		}
		if (session != null)
			session.stop();
		session = new Session(folder, words[2], Integer.parseInt(words[3]), Integer.parseInt(words[4]));
		session.begin();
		Files.tellState(folder, "started", words[5], session.source());
	}

	private static void dump(Path folder, String[] words) throws Exception {
		String sequence = words[2];
		long since = words.length > 3 ? Long.parseLong(words[3]) : 0;
		long to = words.length > 3 ? Long.parseLong(words[4]) : 0;

		if (session == null || !session.runs()) {
			Files.tellState(folder, "failed", sequence, "no recording");
			return;
		}
		session.dump(Long.parseLong(sequence), since, to);
		Files.tellState(folder, "written", sequence, session.source());
	}

	private static void stop(Path folder) {
		if (session != null)
			session.stop();
		session = null;
		Files.removeAll(folder);
	}

	/** Why there is no JFR; null: there is. By name, for its classes may not be there at all. */
	private static String missing() {
		try {
			Class<?> recorder = Class.forName("jdk.jfr.FlightRecorder");
			boolean available = (Boolean)recorder.getMethod("isAvailable").invoke(null);

			Class.forName("jdk.jfr.consumer.RecordingFile");
			return available ? null : "turned off in this VM";
		} catch (ReflectiveOperationException | LinkageError absent) {
			return "not in this JDK, or not among the program's modules";
		}
	}
}
