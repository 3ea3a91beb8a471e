// SPDX-License-Identifier: GPL-2.0-or-later
package stackprobe.jfr1;

import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import jdk.jfr.EventType;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;

/** Which of the VM's events each probe is made of, and what one of them weighs. */
final class Events {
	static final String CPU_TIME = "jdk.CPUTimeSample", CPU_LOST = "jdk.CPUTimeSamplesLost";
	static final String DATA_LOSS = "jdk.DataLoss";
	private static final String EXECUTION = "jdk.ExecutionSample", NATIVE = "jdk.NativeMethodSample";
	private static final String ALLOCATED = "jdk.ObjectAllocationSample";
	private static final String IN_TLAB = "jdk.ObjectAllocationInNewTLAB";
	private static final String OUTSIDE = "jdk.ObjectAllocationOutsideTLAB";
	private static final List<String> WAITS =
		Arrays.asList("jdk.ThreadSleep", "jdk.JavaMonitorEnter", "jdk.JavaMonitorWait", "jdk.ThreadPark",
			      "jdk.SocketRead", "jdk.SocketWrite", "jdk.FileRead", "jdk.FileWrite");
	private static final int PERIOD_MIN_MS = 10; // the VM takes no shorter one
	private static final long NS_PER_MS = 1000000;

	private final Set<String> probes;
	private final int periodMs;
	private final Set<String> there = new HashSet<>();

	Events(Set<String> probes, int periodMs) {
		this.probes = probes;
		this.periodMs = Math.max(periodMs, PERIOD_MIN_MS);
		for (EventType type : FlightRecorder.getFlightRecorder().getEventTypes())
			there.add(type.getName());
	}

	boolean hasCpuTime() {
		return there.contains(CPU_TIME);
	}

	void enable(Recording recording) {
		if (probes.contains("oncpu"))
			enableOnCpu(recording);
		if (probes.contains("offcpu")) {
			// Newer VMs draw some of these by default.
			for (String name : WAITS)
				recording.enable(name).withThreshold(Duration.ZERO).withStackTrace().with("throttle", "off");
		}
		if (probes.contains("mem") && there.contains(ALLOCATED)) {
			recording.enable(ALLOCATED).withStackTrace().with("throttle", "1000/s");
		} else if (probes.contains("mem")) {
			recording.enable(IN_TLAB).withStackTrace();
			recording.enable(OUTSIDE).withStackTrace();
		}
		if (there.contains(DATA_LOSS))
			recording.enable(DATA_LOSS);
	}

	private void enableOnCpu(Recording recording) {
		if (hasCpuTime()) {
			recording.enable(CPU_TIME).withStackTrace().with("throttle", periodMs + "ms");
			if (there.contains(CPU_LOST))
				recording.enable(CPU_LOST);
		} else {
			recording.enable(EXECUTION).withPeriod(Duration.ofMillis(periodMs));
			recording.enable(NATIVE).withPeriod(Duration.ofMillis(2L * periodMs));
		}
	}

	/** Whose event it is; null: of none. */
	String probe(String name) {
		if (name.equals(CPU_TIME) || name.equals(EXECUTION) || name.equals(NATIVE))
			return "oncpu";
		if (WAITS.contains(name))
			return "offcpu";
		if (name.equals(ALLOCATED) || name.equals(IN_TLAB) || name.equals(OUTSIDE))
			return "mem";
		return null;
	}

	/** What a sample stands for, what a wait lasted since then (nanoseconds), what was allocated (bytes). */
	long weight(String name, RecordedEvent event, Instant since) {
		Instant start;

		switch (name) {
		case CPU_TIME:
		case EXECUTION:
			return periodMs * NS_PER_MS;
		case NATIVE:
			return 2 * periodMs * NS_PER_MS;
		case ALLOCATED:
			return event.getLong("weight");
		case IN_TLAB:
			return event.getLong("tlabSize");
		case OUTSIDE:
			return event.getLong("allocationSize");
		default:
			start = event.getStartTime();
			if (start.isBefore(since))
				return Math.max(Duration.between(since, event.getEndTime()).toNanos(), 0);
			return event.getDuration().toNanos();
		}
	}
}
