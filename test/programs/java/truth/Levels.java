// SPDX-License-Identifier: GPL-2.0-or-later
package truth;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.management.JMException;
import javax.management.ObjectName;

/** Holds methods at their level of compilation: directives that the program gives its own VM, so it is
 * started without any flag. JDK 8 has none: there flags of the same meaning are given (javas.py). */
final class Levels {
	private static final String NOT_INLINED = "inline: [\"-truth/*.*\"]";
	private static final String DIRECTIVES =
		"[{match: \"truth/Interpreted.*\", c1: {Exclude: true}, c2: {Exclude: true}},\n" +
		" {match: \"truth/OnlyC1.*\", c2: {Exclude: true}, " + NOT_INLINED + "},\n" +
		" {match: \"truth/Inlined.*\", inline: [\"+truth/Inlined.*\"]},\n" +
		" {match: \"truth/Folded*.*\", inline: [\"+truth/Folded*.*\", \"-truth/Called.*\"]},\n" +
		" {match: \"truth/*.*\", " + NOT_INLINED + "}]\n";

	private Levels() {
	}

	/** False: this VM has no directives. */
	static boolean hold(Path path) throws IOException, JMException {
		Path file = path.resolveSibling(path.getFileName() + ".directives");
		Files.write(file, DIRECTIVES.getBytes("UTF-8"));
		ObjectName diagnostics = new ObjectName("com.sun.management:type=DiagnosticCommand");
		try {
			Object said = ManagementFactory.getPlatformMBeanServer().invoke(diagnostics,
				"compilerDirectivesAdd", new Object[] { new String[] { file.toString() } },
				new String[] { String[].class.getName() });
			if (!said.toString().contains("5 compiler directives added"))
				throw new IOException(said.toString());
			return true;
		} catch (javax.management.ReflectionException jdk8) {
			return false;
		}
	}
}
