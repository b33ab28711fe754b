import java.util.List;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.config.Protocol;

/** Redisson as a client among faults. */
record RedissonFaults(RedissonClient redisson) implements Faults.Client {
  /** Redisson sends a command again that failed or was not answered; 4 is its default. */
  private static final int TRIES = 5;

  static List<Faults.Named> clients() {
    return List.of(
        new Faults.Named(
            "redisson-gateway", TRIES, () -> open(RedissonServers.gateway(Protocol.RESP3))));
  }

  /** All slots that change owners at once leave it with connections that it has shut down. */
  static List<Faults.Named> clusterClients() {
    Config config = RedissonServers.cluster(Protocol.RESP3);
    config.useClusterServers().setScanInterval(500);
    return List.of(new Faults.Named("redisson-cluster", TRIES, () -> open(config)));
  }

  private static RedissonFaults open(Config config) {
    return new RedissonFaults(Redisson.create(config));
  }

  @Override
  public long increment(String key) {
    return redisson.getAtomicLong(key).incrementAndGet();
  }

  @Override
  public long read(String key) {
    return redisson.getAtomicLong(key).get();
  }

  @Override
  public void close() {
    redisson.shutdown();
  }
}
