import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Tries things by name, each for a bounded time, and prints what came of them. */
final class Report {
  interface Body {
    void run() throws Exception;
  }

  interface Question {
    boolean ask() throws Exception;
  }

  private static final ExecutorService THREADS =
      Executors.newCachedThreadPool(
          work -> {
            Thread thread = new Thread(work);
            thread.setDaemon(true);
            return thread;
          });
  private static final int SECONDS = 180;

  private static String prefix = "";
  private static String[] words = {};
  static int failed = 0;

  private Report() {}

  /** Only what has one of these in its name is tried; without any, all is. */
  static void only(String[] wanted) {
    words = wanted;
  }

  /** What comes is of this client, used in this way. */
  static void of(String what) {
    prefix = what + ": ";
  }

  static void tries(String what, Body body) {
    String name = prefix + what;
    if (words.length > 0 && !java.util.Arrays.stream(words).anyMatch(name::contains)) return;
    try {
      inBackground(body).get(SECONDS, TimeUnit.SECONDS);
      System.out.println("ok " + name);
    } catch (TimeoutException error) {
      fail(name, error);
    } catch (ExecutionException error) {
      fail(name, error.getCause());
    } catch (InterruptedException error) {
      throw new IllegalStateException(error);
    }
  }

  private static void fail(String name, Throwable why) {
    failed++;
    System.out.println("not ok " + name + ": " + why.toString().replace('\n', ' '));
    why.printStackTrace();
  }

  static java.util.concurrent.Future<?> inBackground(Body body) {
    return THREADS.submit(
        () -> {
          body.run();
          return null;
        });
  }

  static void same(Object expected, Object seen) {
    if (Objects.equals(expected, seen)) return;
    throw new AssertionError("expected " + cut(expected) + ", seen " + cut(seen));
  }

  static void holds(String what, boolean isSo) {
    if (!isSo) throw new AssertionError("does not hold: " + what);
  }

  /** Returns the error, whose text has to begin so. */
  static Throwable refuses(String beginning, Body body) {
    try {
      body.run();
    } catch (Throwable error) {
      for (Throwable each = error; each != null; each = each.getCause()) {
        if (String.valueOf(each.getMessage()).startsWith(beginning)) return error;
      }
      throw new AssertionError("expected " + beginning + ", seen " + error, error);
    }
    throw new AssertionError("expected " + beginning + ", seen no error");
  }

  static void eventually(String what, Question question) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!question.ask()) {
      if (System.nanoTime() > end) throw new AssertionError("not within a minute: " + what);
      Thread.sleep(50);
    }
  }

  /** The digest that servers know a script by. */
  static String sha1(String text) {
    try {
      byte[] digest = java.security.MessageDigest.getInstance("SHA-1").digest(text.getBytes());
      return java.util.HexFormat.of().formatHex(digest);
    } catch (java.security.NoSuchAlgorithmException error) {
      throw new IllegalStateException(error);
    }
  }

  private static String cut(Object value) {
    String text = String.valueOf(value);
    return text.length() > 300 ? text.substring(0, 300) + "…" : text;
  }
}
