import java.util.List;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.UnifiedJedis;

/** Jedis as a client among faults. */
record JedisFaults(UnifiedJedis jedis) implements Faults.Client {
  static List<Faults.Named> clients() {
    return List.of(
        new Faults.Named("jedis-gateway", 1, () -> new JedisFaults(gateway())),
        new Faults.Named(
            "jedis-cluster",
            RedisClusterClient.DEFAULT_MAX_ATTEMPTS,
            () -> new JedisFaults(cluster(RedisProtocol.RESP2))),
        new Faults.Named(
            "jedis-cluster-resp3",
            RedisClusterClient.DEFAULT_MAX_ATTEMPTS,
            () -> new JedisFaults(cluster(RedisProtocol.RESP3))));
  }

  private static UnifiedJedis gateway() {
    return JedisGateway.open(JedisGateway.config());
  }

  private static UnifiedJedis cluster(RedisProtocol protocol) {
    return JedisClusterPort.open(JedisGateway.config().protocol(protocol));
  }

  @Override
  public long increment(String key) {
    return jedis.incr(key);
  }

  @Override
  public long read(String key) {
    String value = jedis.get(key);
    return value == null ? 0 : Long.parseLong(value);
  }

  @Override
  public void close() {
    jedis.close();
  }
}
