import io.lettuce.core.ClientOptions;
import io.lettuce.core.KeyValue;
import io.lettuce.core.LettuceFutures;
import io.lettuce.core.ReadFrom;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.sync.RedisAdvancedClusterCommands;
import io.lettuce.core.cluster.models.partitions.ClusterPartitionParser;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.cluster.models.slots.ClusterSlotsParser;
import io.lettuce.core.cluster.pubsub.StatefulRedisClusterPubSubConnection;
import io.lettuce.core.protocol.ProtocolVersion;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import reactor.core.publisher.Flux;

/** Lettuce at the cluster ports, as a client of Redis Cluster. */
final class LettuceCluster {
  private static final Duration MINUTE = Duration.ofMinutes(1);

  private LettuceCluster() {}

  static void all() {
    for (ProtocolVersion protocol : ProtocolVersion.values()) {
      Report.of("lettuce, cluster, " + protocol);
      RedisClusterClient client = client(options().protocolVersion(protocol).build());
      try (StatefulRedisClusterConnection<String, String> connection = client.connect()) {
        new LettuceCommands(connection.sync()).all();
        each(client, connection);
      }
      client.shutdown();
    }
    Report.of("lettuce, cluster");
    Report.tries("defaults of everything", LettuceCluster::defaults);
    Report.tries("where it may read from", LettuceCluster::readFrom);
    Report.tries("users", LettuceCluster::users);
  }

  static RedisClusterClient client(ClientOptions options) {
    List<RedisURI> seeds =
        Cluster.clusterPorts().stream().map(place -> LettuceGateway.uri(place).build()).toList();
    RedisClusterClient client = RedisClusterClient.create(seeds);
    client.setOptions((ClusterClientOptions) options);
    return client;
  }

  /** Refreshed every few seconds, and at once when anything tells of a change. */
  static ClusterClientOptions.Builder options() {
    return ClusterClientOptions.builder()
        .topologyRefreshOptions(
            ClusterTopologyRefreshOptions.builder()
                .enablePeriodicRefresh(Duration.ofSeconds(5))
                .enableAllAdaptiveRefreshTriggers()
                .adaptiveRefreshTriggersTimeout(Duration.ofMillis(500))
                .build());
  }

  private static void each(
      RedisClusterClient client, StatefulRedisClusterConnection<String, String> connection) {
    Report.tries("its view of the cluster", () -> view(client, connection));
    Report.tries("10,000 commands, flushed at once", () -> pipeline(client));
    Report.tries("reactive", () -> reactive(connection));
    Report.tries("a transaction of a node", () -> transaction(connection));
    Report.tries("blocking", () -> blocking(client));
    Report.tries("commands to all nodes", () -> allNodes(connection));
    Report.tries("publish and subscribe", () -> pubsub(client));
    Report.tries("shard channels", () -> shardChannels(client));
  }

  private static void view(
      RedisClusterClient client, StatefulRedisClusterConnection<String, String> connection) {
    client.refreshPartitions();
    int slots = client.getPartitions().stream().mapToInt(node -> node.getSlots().size()).sum();
    Report.same(SlotHash.SLOT_COUNT, slots);
    RedisAdvancedClusterCommands<String, String> redis = connection.sync();
    Report.same(
        client.getPartitions().size(), ClusterPartitionParser.parse(redis.clusterNodes()).size());
    Report.holds("CLUSTER SLOTS", ClusterSlotsParser.parse(redis.clusterSlots()).size() >= 3);
    Report.holds("CLUSTER INFO", redis.clusterInfo().contains("cluster_state:ok"));
    Report.holds("CLUSTER SHARDS", redis.clusterShards().size() >= 3);
    String own = redis.clusterMyId();
    Report.holds("CLUSTER MYID", client.getPartitions().getPartitionByNodeId(own) != null);
    Report.same((long) SlotHash.getSlot("key"), redis.clusterKeyslot("key"));
  }

  private static void pipeline(RedisClusterClient client) {
    try (StatefulRedisClusterConnection<String, String> connection = client.connect()) {
      connection.setAutoFlushCommands(false);
      List<RedisFuture<?>> replies = new ArrayList<>();
      for (int i = 0; i < 10_000; i++) replies.add(connection.async().set("p" + i % 500, "v" + i));
      connection.flushCommands();
      Report.holds("in time", LettuceFutures.awaitAll(MINUTE, replies.toArray(RedisFuture[]::new)));
      connection.setAutoFlushCommands(true);
      Report.same("v9999", connection.sync().get("p499"));
    }
  }

  private static void reactive(StatefulRedisClusterConnection<String, String> connection) {
    var redis = connection.reactive();
    Map<String, String> pairs = new HashMap<>();
    for (int i = 0; i < 1_000; i++) pairs.put("re:" + i, "v" + i);
    Report.same("OK", redis.mset(pairs).block(MINUTE));
    Flux<KeyValue<String, String>> values = redis.mget(pairs.keySet().toArray(String[]::new));
    Report.same(1_000L, values.filter(KeyValue::hasValue).count().block(MINUTE));
    var args = io.lettuce.core.ScanArgs.Builder.matches("re:*").limit(100);
    Report.same(1_000L, io.lettuce.core.ScanStream.scan(redis, args).count().block(MINUTE));
    Report.same(1_000L, redis.del(pairs.keySet().toArray(String[]::new)).block(MINUTE));
  }

  private static void transaction(StatefulRedisClusterConnection<String, String> connection) {
    connection.sync().del("{x}1");
    RedisClusterNode node = connection.getPartitions().getPartitionBySlot(SlotHash.getSlot("{x}"));
    var redis = connection.getConnection(node.getNodeId()).sync();
    redis.watch("{x}1");
    redis.multi();
    redis.incr("{x}1");
    redis.set("{x}2", "v");
    Report.same(List.of(1L, "OK"), redis.exec().stream().toList());
    redis.watch("{x}1");
    redis.incr("{x}1");
    redis.multi();
    redis.incr("{x}1");
    Report.holds("WATCH sees it", redis.exec().wasDiscarded());
  }

  private static void blocking(RedisClusterClient client) throws Exception {
    try (StatefulRedisClusterConnection<String, String> waits = client.connect();
        StatefulRedisClusterConnection<String, String> pushes = client.connect()) {
      for (int i = 0; i < 20; i++) {
        pushes.sync().del("q" + i);
        RedisFuture<KeyValue<String, String>> taken = waits.async().blpop(30, "q" + i);
        pushes.sync().rpush("q" + i, "e");
        Report.same(KeyValue.just("q" + i, "e"), taken.get());
      }
    }
  }

  private static void allNodes(StatefulRedisClusterConnection<String, String> connection) {
    var nodes = connection.sync().upstream();
    Report.same(3, nodes.size());
    Report.holds("PING", nodes.commands().ping().stream().allMatch("PONG"::equals));
    long keys = nodes.commands().dbsize().stream().mapToLong(Long::longValue).sum();
    Report.same(connection.sync().dbsize(), keys);
  }

  private static void pubsub(RedisClusterClient client) throws Exception {
    BlockingQueue<String> heard = new LinkedBlockingQueue<>();
    try (StatefulRedisClusterPubSubConnection<String, String> hears = client.connectPubSub();
        StatefulRedisClusterConnection<String, String> says = client.connect()) {
      hears.addListener(new LettuceGateway.Listener(heard));
      hears.sync().subscribe("c1");
      Report.same("+c1", heard.take());
      for (int i = 0; i < 20; i++) {
        Report.same("m" + i, said(says, "c1", "m" + i, heard));
      }
    }
  }

  private static String said(
      StatefulRedisClusterConnection<String, String> says,
      String channel,
      String message,
      BlockingQueue<String> heard)
      throws Exception {
    says.sync().publish(channel, message);
    return heard.take().substring(channel.length() + 1);
  }

  private static void shardChannels(RedisClusterClient client) throws Exception {
    BlockingQueue<String> heard = new LinkedBlockingQueue<>();
    try (StatefulRedisClusterPubSubConnection<String, String> hears = client.connectPubSub();
        StatefulRedisClusterConnection<String, String> says = client.connect()) {
      hears.addListener(new LettuceGateway.Listener(heard));
      for (int i = 0; i < 10; i++) {
        hears.sync().ssubscribe("s" + i);
        Report.same("+s" + i, heard.take());
        Report.same(1L, says.sync().spublish("s" + i, "hello"));
        Report.same("s" + i + " hello", heard.take());
        hears.sync().sunsubscribe("s" + i);
      }
    }
  }

  private static void defaults() {
    Cluster.Place place = Cluster.clusterPorts().get(1);
    RedisClusterClient client =
        RedisClusterClient.create("redis://" + place.host() + ":" + place.port());
    try (StatefulRedisClusterConnection<String, String> connection = client.connect()) {
      for (int i = 0; i < 100; i++) connection.sync().set("d" + i, "1");
      for (int i = 0; i < 100; i++) Report.same("1", connection.sync().getdel("d" + i));
    }
    client.shutdown();
  }

  /**
   * CLUSTER NODES, which Lettuce asks, names no followers: what prefers replicas reads from
   * leaders.
   */
  private static void readFrom() {
    RedisClusterClient client = client(options().build());
    List<ReadFrom> all =
        List.of(
            ReadFrom.UPSTREAM,
            ReadFrom.UPSTREAM_PREFERRED,
            ReadFrom.REPLICA_PREFERRED,
            ReadFrom.LOWEST_LATENCY,
            ReadFrom.ANY);
    try (StatefulRedisClusterConnection<String, String> connection = client.connect()) {
      for (ReadFrom each : all) {
        connection.setReadFrom(each);
        for (int i = 0; i < 100; i++) {
          connection.sync().set("r" + i, each.toString());
          Report.same(each.toString(), connection.sync().get("r" + i));
        }
      }
      connection.setReadFrom(ReadFrom.REPLICA);
      Report.refuses("Cannot determine a partition to read", () -> connection.sync().get("r1"));
    }
    client.shutdown();
  }

  private static void users() {
    RedisClusterClient client = client(options().build());
    try (StatefulRedisClusterConnection<String, String> admin = client.connect()) {
      var rules =
          io.lettuce.core.AclSetuserArgs.Builder.on().addPassword("secret").keyPattern("dan:*");
      admin.sync().aclSetuser("dan", rules.allCommands());
      for (RedisClusterNode node : admin.getPartitions()) {
        admin.getConnection(node.getNodeId()).sync().aclSetuser("dan", rules);
      }
    }
    client.shutdown();
    List<RedisURI> seeds =
        Cluster.clusterPorts().stream()
            .map(place -> LettuceGateway.uri(place).withAuthentication("dan", "secret").build())
            .toList();
    RedisClusterClient dans = RedisClusterClient.create(seeds);
    try (StatefulRedisClusterConnection<String, String> dan = dans.connect()) {
      for (int i = 0; i < 20; i++) Report.same("OK", dan.sync().set("dan:" + i, "v"));
      Report.refuses("NOPERM", () -> dan.sync().set("other", "v"));
    }
    dans.shutdown();
  }
}
