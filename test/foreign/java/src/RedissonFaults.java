import java.util.List;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.config.Protocol;

/** Redisson as a client among faults, at a gateway port. */
record RedissonFaults(RedissonClient redisson) implements Faults.Client {
  /** Redisson sends a command again that failed or was not answered; 4 is its default. */
  private static final int TRIES = 5;

  static List<Faults.Named> clients() {
    return List.of(
        new Faults.Named(
            "redisson-gateway", TRIES, () -> open(RedissonServers.gateway(Protocol.RESP3))));
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
