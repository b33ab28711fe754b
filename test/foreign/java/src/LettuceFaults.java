import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.sync.RedisClusterCommands;
import java.util.List;

/** Lettuce as a client among faults: one connection for all threads, as its users have it. */
record LettuceFaults(RedisClusterCommands<String, String> redis, Runnable end)
    implements Faults.Client {
  /**
   * Lettuce sends again what had no reply when its connection was lost, as often as that happens.
   */
  private static final int TRIES = 10;

  static List<Faults.Named> clients() {
    return List.of(
        new Faults.Named("lettuce-gateway", TRIES, LettuceFaults::gateway),
        new Faults.Named("lettuce-cluster", TRIES, LettuceFaults::cluster));
  }

  private static LettuceFaults gateway() {
    RedisClient client = LettuceGateway.client(ClientOptions.create());
    StatefulRedisConnection<String, String> connection = client.connect();
    return new LettuceFaults(connection.sync(), client::shutdown);
  }

  private static LettuceFaults cluster() {
    RedisClusterClient client = LettuceCluster.client(LettuceCluster.options().build());
    StatefulRedisClusterConnection<String, String> connection = client.connect();
    return new LettuceFaults(connection.sync(), client::shutdown);
  }

  @Override
  public long increment(String key) {
    return redis.incr(key);
  }

  @Override
  public long read(String key) {
    String value = redis.get(key);
    return value == null ? 0 : Long.parseLong(value);
  }

  @Override
  public void close() {
    end.run();
  }
}
