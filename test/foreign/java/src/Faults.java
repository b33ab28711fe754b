import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;

/**
 * All clients at once while leaders move and nodes are killed: nothing acknowledged may be missing,
 * nothing done twice unless a client sends again by itself, and each has to go on.
 */
final class Faults {
  /** One client, used by several threads. */
  interface Client extends AutoCloseable {
    long increment(String key) throws Exception;

    long read(String key) throws Exception;

    @Override
    default void close() throws Exception {}
  }

  interface Opens {
    Client open() throws Exception;
  }

  /** `tries`: how often a client may send one increment whose connection was lost. */
  record Named(String name, int tries, Opens opens) {}

  private static final int THREADS = 4;
  private static final int GOES_ON = 50;

  private final List<Worker> workers = new ArrayList<>();
  private final List<Client> clients = new ArrayList<>();
  private final List<Future<?>> running = new ArrayList<>();
  private volatile boolean ended = false;
  private int kills = 0;

  /** One phase after the other, since each begins with what the last has left. */
  static void all(String who, List<Named> named, long pauseMs) {
    Faults faults = new Faults();
    Report.of("faults, " + who);
    Report.tries("leaders move, which nobody sees", () -> faults.leadersMove(named, pauseMs));
    Report.tries("datanode3 is killed", () -> faults.kill("datanode3"));
    Report.tries("datanode1, whose gateway they use, is killed", () -> faults.kill("datanode1"));
    Report.tries("nothing is lost, nor done too often", faults::end);
  }

  private void leadersMove(List<Named> named, long pauseMs) throws Exception {
    for (Named each : named) {
      Client client = each.opens().open();
      clients.add(client);
      for (int i = 0; i < THREADS; i++) {
        Worker worker = new Worker(each, client, "faults:" + each.name() + ":" + i);
        workers.add(worker);
        running.add(Report.inBackground(worker::run));
      }
    }
    everyoneGoesOn("at first");
    for (int i = 0; i < 3; i++) {
      Cluster.moveAllLeaders(pauseMs);
      everyoneGoesOn("after leaders have moved");
    }
    for (Worker worker : workers) {
      Report.holds(worker.key + " has failed: " + worker.failure, worker.failure == null);
    }
  }

  private void kill(String node) throws Exception {
    kills++;
    Cluster.kill(node);
    everyoneGoesOn("after " + node + " was killed");
  }

  private void everyoneGoesOn(String when) throws Exception {
    List<Long> before = workers.stream().map(worker -> worker.acknowledged).toList();
    for (int i = 0; i < workers.size(); i++) {
      Worker worker = workers.get(i);
      long wanted = before.get(i) + GOES_ON;
      Report.eventually(
          worker.key + " goes on " + when + ", last seen: " + worker.failure,
          () -> worker.acknowledged >= wanted);
    }
  }

  private void end() throws Exception {
    ended = true;
    for (Future<?> each : running) each.get();
    for (Worker worker : workers) worker.judge(kills);
    for (Client client : clients) client.close();
  }

  /** Increments a counter of its own, one command after the other. */
  private final class Worker {
    private final Named named;
    private final Client client;
    private final String key;
    volatile long acknowledged = 0;
    volatile Exception failure = null;
    private long unknown = 0;
    private long begin = 0;
    private long last = 0;

    Worker(Named named, Client client, String key) {
      this.named = named;
      this.client = client;
      this.key = key;
    }

    void run() throws Exception {
      begin = client.read(key);
      last = begin;
      while (!ended) {
        try {
          step();
        } catch (Exception error) {
          failure = error;
          Thread.sleep(10);
        }
      }
    }

    private void step() throws Exception {
      try {
        see(client.increment(key), last + 1);
        acknowledged++;
      } catch (Exception error) {
        unknown++;
        throw error;
      }
      see(client.read(key), last);
    }

    private void see(long value, long atLeast) {
      if (value < atLeast) ended = true;
      Report.holds(key + " is " + value + ", was " + atLeast + " before", value >= atLeast);
      last = value;
    }

    void judge(int kills) throws Exception {
      long value = client.read(key) - begin;
      String told = key + ": " + value + " of " + acknowledged + " and " + unknown + " unknown";
      Report.holds("nothing acknowledged is lost: " + told, value >= acknowledged);
      long again = (long) (named.tries() - 1) * (unknown + kills);
      Report.holds("nothing is done too often: " + told, value <= acknowledged + unknown + again);
    }
  }
}
