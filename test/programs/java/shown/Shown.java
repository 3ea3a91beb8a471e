package shown;

import java.lang.reflect.Method;
import java.util.Comparator;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;

/**
 * A program whose frames are looked at: methods of one name, a call by reflection, a lambda; a thread
 * that waits, and one that makes garbage. Each of the first kind runs as long as the others.
 */
final class Shown {
    static volatile long sum;
    private static Object[] kept = new Object[1 << 16];

    private Shown() {
    }

    public static long work(int turns) {
        long value = turns;

        for (int i = 0; i < turns; i++) {
            value = value * 31 + (value >>> 7);
        }
        return value;
    }

    public static long work(long turns, String name) {
        long value = name.length();

        for (long i = 0; i < turns; i++) {
            value = value * 37 + (value >>> 9);
        }
        return value;
    }

    static void byLambda() {
        Comparator<Integer> slow = (a, b) -> {
            sum += work(20000);
            return Integer.compare(a, b);
        };
        TreeMap<Integer, Integer> map = new TreeMap<>(slow);

        for (int i = 0; i < 8; i++) {
            map.put(i, i);
        }
    }

    static void byReflection(Method method) throws ReflectiveOperationException {
        for (int i = 0; i < 8; i++) {
            sum += (Long) method.invoke(null, 40000L, "name");
        }
    }

    static void sleeper() {
        while (true) {
            LockSupport.parkNanos(20_000_000);
        }
    }

    static void collect() {
        for (int i = 0;; i++) {
            kept[i & 0xffff] = new Object[64];
        }
    }

    private static void begin(String name, Runnable run) {
        Thread thread = new Thread(run, name);

        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] args) throws Exception {
        Method method = Shown.class.getMethod("work", long.class, String.class);

        begin("sleeper", Shown::sleeper);
        if (args.length > 0 && args[0].equals("garbage")) {
            begin("collect", Shown::collect);
        }
        while (true) {
            byLambda();
            byReflection(method);
        }
    }
}
