import java.util.List;
import java.util.Map;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.StreamEntryID;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.csc.CacheConfig;
import redis.clients.jedis.params.XAutoClaimParams;
import redis.clients.jedis.params.XReadGroupParams;
import redis.clients.jedis.resps.StreamEntry;

/** Jedis with streams, functions and its cache, at either kind of port. */
final class JedisSince7 {
  private static final String LIBRARY =
      "#!lua name=jedis\n"
          + "redis.register_function('jedis_add', function(keys, args)"
          + " return redis.call('INCRBY', keys[1], args[1]) end)\n"
          + "redis.register_function{function_name = 'jedis_none',"
          + " callback = function() return 'none' end, flags = {'no-writes'}}";

  private JedisSince7() {}

  static void all() {
    for (RedisProtocol protocol : List.of(RedisProtocol.RESP2, RedisProtocol.RESP3)) {
      Report.of("jedis, gateway, " + protocol);
      try (RedisClient jedis = JedisGateway.open(JedisGateway.config().protocol(protocol))) {
        each(jedis);
      }
      Report.of("jedis, cluster, " + protocol);
      try (var jedis = JedisClusterPort.open(JedisGateway.config().protocol(protocol))) {
        each(jedis);
      }
    }
    Report.of("jedis");
    Report.tries("gateway: a client that caches", JedisSince7::gatewayCaches);
    Report.tries("cluster: a client that caches", JedisSince7::clusterCaches);
  }

  private static void each(UnifiedJedis jedis) {
    Report.tries("streams and groups", () -> streams(jedis));
    Report.tries("functions", () -> functions(jedis));
  }

  private static void streams(UnifiedJedis jedis) {
    jedis.del("stream");
    StreamEntryID first = jedis.xadd("stream", StreamEntryID.NEW_ENTRY, Map.of("n", "1"));
    StreamEntryID second = jedis.xadd("stream", StreamEntryID.NEW_ENTRY, Map.of("n", "2"));
    Report.same("OK", jedis.xgroupCreate("stream", "g", new StreamEntryID("0-0"), false));
    Report.refuses("BUSYGROUP", () -> jedis.xgroupCreate("stream", "g", null, false));
    Report.same(List.of(first, second), idsOf(read(jedis, "one")));
    Report.same(2L, jedis.xpending("stream", "g").getTotal());
    var claimed =
        jedis.xautoclaim(
            "stream", "g", "two", 0, new StreamEntryID("0-0"), XAutoClaimParams.xAutoClaimParams());
    Report.same(List.of(first, second), idsOf(claimed.getValue()));
    Report.same(2L, jedis.xack("stream", "g", first, second));
    Report.inBackground(
        () -> {
          Thread.sleep(300);
          jedis.xadd("stream", StreamEntryID.NEW_ENTRY, Map.of("n", "late"));
        });
    Report.same("late", read(jedis, "one").get(0).getFields().get("n"));
    Report.same(3L, jedis.xinfoStream("stream").getLength());
  }

  private static List<StreamEntry> read(UnifiedJedis jedis, String consumer) {
    var params = XReadGroupParams.xReadGroupParams().count(10).block(20_000);
    var last = Map.of("stream", StreamEntryID.XREADGROUP_UNDELIVERED_ENTRY);
    return jedis.xreadGroup("g", consumer, params, last).get(0).getValue();
  }

  private static List<StreamEntryID> idsOf(List<StreamEntry> entries) {
    return entries.stream().map(StreamEntry::getID).toList();
  }

  private static void functions(UnifiedJedis jedis) {
    jedis.functionLoadReplace(LIBRARY);
    jedis.del("f");
    Report.same(5L, jedis.fcall("jedis_add", List.of("f"), List.of("5")));
    for (int i = 0; i < 20; i++)
      Report.same("none", jedis.fcallReadonly("jedis_none", List.of(), List.of()));
    jedis.functionDelete("jedis");
    Report.refuses(
        "ERR Function not found", () -> jedis.fcall("jedis_add", List.of("f"), List.of("5")));
  }

  private static void gatewayCaches() throws Exception {
    var config = JedisGateway.config().protocol(RedisProtocol.RESP3).build();
    try (var mine =
        RedisClient.builder()
            .hostAndPort(JedisGateway.SERVER)
            .clientConfig(config)
            .cacheConfig(CacheConfig.builder().build())
            .build()) {
      caches(mine);
      Report.same(1, mine.getCache().getSize());
    }
  }

  private static void clusterCaches() throws Exception {
    var config = JedisGateway.config().protocol(RedisProtocol.RESP3).build();
    try (var mine =
        RedisClusterClient.builder()
            .nodes(JedisClusterPort.SEEDS)
            .clientConfig(config)
            .cacheConfig(CacheConfig.builder().build())
            .build()) {
      caches(mine);
      Report.same(1, mine.getCache().getSize());
    }
  }

  private static void caches(UnifiedJedis mine) throws Exception {
    try (RedisClient other = JedisGateway.open(JedisGateway.config())) {
      other.set("cached", "1");
      Report.same("1", mine.get("cached"));
      Report.same("1", mine.get("cached"));
      other.set("cached", "2");
      Report.eventually("it is told", () -> "2".equals(mine.get("cached")));
    }
  }
}
