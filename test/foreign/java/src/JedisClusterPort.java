import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import redis.clients.jedis.ClusterPipeline;
import redis.clients.jedis.CommandObjects;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisCluster;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.JedisShardedPubSub;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.Response;
import redis.clients.jedis.Transaction;

/** Jedis at the cluster ports, as a client of Redis Cluster. */
final class JedisClusterPort {
  static final Set<HostAndPort> SEEDS =
      Cluster.clusterPorts().stream()
          .map(place -> new HostAndPort(place.host(), place.port()))
          .collect(Collectors.toSet());
  private static final int KEYS = 2_000;

  private JedisClusterPort() {}

  static void all() {
    for (RedisProtocol protocol : List.of(RedisProtocol.RESP2, RedisProtocol.RESP3)) {
      Report.of("jedis, cluster, " + protocol);
      try (RedisClusterClient jedis = open(JedisGateway.config().protocol(protocol))) {
        new JedisCommands(jedis).all();
        each(jedis);
      }
    }
    Report.of("jedis, cluster");
    Report.tries("the old JedisCluster", JedisClusterPort::oldCluster);
    Report.tries("users", JedisClusterPort::users);
    Report.tries("reads from replicas", JedisClusterPort::replicas);
    Report.tries("one seed suffices", JedisClusterPort::oneSeed);
  }

  static RedisClusterClient open(DefaultJedisClientConfig.Builder config) {
    return RedisClusterClient.builder()
        .nodes(SEEDS)
        .clientConfig(config.build())
        .topologyRefreshPeriod(Duration.ofSeconds(5))
        .build();
  }

  private static void each(RedisClusterClient jedis) {
    Report.tries("its nodes", () -> nodes(jedis));
    Report.tries("keys of many slots", () -> manySlots(jedis));
    Report.tries("a pipeline over all slots", () -> pipeline(jedis));
    Report.tries("scanIteration over all nodes", () -> scan(jedis));
    Report.tries("a transaction with WATCH", () -> transaction(jedis));
    Report.tries("blocking", () -> blocking(jedis));
    Report.tries("publish and subscribe", () -> pubsub(jedis));
    Report.tries("shard channels", () -> shardChannels(jedis));
    Report.tries("keys of two slots at once are refused", () -> crossSlot(jedis));
  }

  private static void nodes(RedisClusterClient jedis) {
    Set<String> places = SEEDS.stream().map(HostAndPort::toString).collect(Collectors.toSet());
    Report.holds("all seeds are known", jedis.getClusterNodes().keySet().containsAll(places));
    jedis.refreshClusterTopology();
    Report.holds("still", jedis.getClusterNodes().keySet().containsAll(places));
  }

  private static void manySlots(RedisClusterClient jedis) {
    String[] keys = IntStream.range(0, 200).mapToObj(i -> "m" + i).toArray(String[]::new);
    String[] pairs = new String[400];
    for (int i = 0; i < 400; i++) pairs[i] = i % 2 == 0 ? keys[i / 2] : "v" + i / 2;
    Report.same("OK", jedis.mset(pairs));
    Report.same("v199", jedis.mget(keys).get(199));
    Report.same(200L, jedis.exists(keys));
    Report.same(200L, jedis.unlink(keys));
  }

  private static void pipeline(RedisClusterClient jedis) {
    List<Response<String>> values = new ArrayList<>();
    try (ClusterPipeline pipeline = jedis.pipelined()) {
      for (int i = 0; i < KEYS; i++) pipeline.set("p" + i, "v" + i);
      for (int i = 0; i < KEYS; i++) values.add(pipeline.get("p" + i));
      for (int i = 0; i < KEYS; i++) pipeline.del("p" + i);
      pipeline.sync();
    }
    for (int i = 0; i < KEYS; i++) Report.same("v" + i, values.get(i).get());
  }

  private static void scan(RedisClusterClient jedis) {
    try (ClusterPipeline pipeline = jedis.pipelined()) {
      for (int i = 0; i < KEYS; i++) pipeline.set("scan:" + i, "v");
    }
    Set<String> seen =
        new HashSet<>(); // Jedis asks replicas as well, and shows a key once for each
    jedis.scanIteration(100, "scan:*").collect(seen);
    Report.same(KEYS, seen.size());
    Report.same(KEYS, jedis.keys("scan:*").size());
    Report.holds("DBSIZE", jedis.dbSize() >= KEYS);
    try (ClusterPipeline pipeline = jedis.pipelined()) {
      for (String key : seen) pipeline.del(key);
    }
  }

  private static void transaction(RedisClusterClient jedis) {
    int slot = redis.clients.jedis.util.JedisClusterCRC16.getSlot("{x}1");
    jedis.del("{x}1");
    try (Transaction transaction =
        new Transaction(jedis.getConnectionFromSlot(slot), false, true)) {
      transaction.watch("{x}1");
      transaction.multi();
      transaction.incr("{x}1");
      transaction.set("{x}2", "v");
      Report.same(List.of(1L, "OK"), transaction.exec());
    }
    try (Transaction transaction =
        new Transaction(jedis.getConnectionFromSlot(slot), false, true)) {
      transaction.watch("{x}1");
      jedis.incr("{x}1");
      transaction.multi();
      transaction.incr("{x}1");
      Report.same(null, transaction.exec());
    }
  }

  private static void blocking(RedisClusterClient jedis) throws Exception {
    jedis.del("q");
    BlockingQueue<Object> taken = new LinkedBlockingQueue<>();
    List<Future<?>> waiting = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      waiting.add(Report.inBackground(() -> taken.add(jedis.blpop(30, "q"))));
    }
    for (int i = 0; i < 4; i++) jedis.rpush("q", "e" + i);
    for (Future<?> each : waiting) each.get();
    Report.same(4, new HashSet<>(taken).size());
    Report.same(null, jedis.brpop(1, "q"));
  }

  private static void pubsub(RedisClusterClient jedis) throws Exception {
    BlockingQueue<String> heard = new LinkedBlockingQueue<>();
    JedisPubSub listener = new JedisGateway.Listener(heard);
    Future<?> listening = Report.inBackground(() -> jedis.subscribe(listener, "c1"));
    Report.same("+c1 1", heard.take());
    for (int i = 0; i < 20; i++) {
      jedis.publish("c1", "m" + i);
      Report.same("c1 m" + i, heard.take());
    }
    listener.unsubscribe();
    listening.get();
  }

  private static void shardChannels(RedisClusterClient jedis) throws Exception {
    for (String channel : List.of("s1", "s2", "s3", "s4", "s5")) {
      BlockingQueue<String> heard = new LinkedBlockingQueue<>();
      JedisShardedPubSub listener = new ShardListener(heard);
      Future<?> listening = Report.inBackground(() -> jedis.ssubscribe(listener, channel));
      Report.same("+" + channel, heard.take());
      Report.same(1L, jedis.spublish(channel, "hello"));
      Report.same(channel + " hello", heard.take());
      listener.sunsubscribe();
      listening.get();
    }
  }

  private static void crossSlot(RedisClusterClient jedis) {
    Report.refuses(
        "Cannot get connection for command with multiple hash slots", () -> jedis.rename("a", "b"));
    Report.refuses(
        "CROSSSLOT",
        () ->
            jedis
                .getConnectionFromSlot(0)
                .executeCommand(new CommandObjects(RedisProtocol.RESP3).sinter("a", "b")));
  }

  private static void oldCluster() {
    try (JedisCluster jedis = new JedisCluster(SEEDS)) {
      jedis.set("d", "1");
      Report.same(2L, jedis.incr("d"));
    }
  }

  private static void users() {
    for (HostAndPort seed : SEEDS) {
      try (Jedis admin = new Jedis(seed)) {
        admin.aclSetUser("bea", "on", ">secret", "~bea:*", "+@all");
      }
    }
    try (RedisClusterClient bea = open(JedisGateway.config().user("bea").password("secret"))) {
      Report.same("OK", bea.set("bea:1", "v"));
      Report.refuses("NOPERM", () -> bea.set("other", "v"));
    }
  }

  private static void replicas() throws Exception {
    try (RedisClusterClient jedis = open(JedisGateway.config().readOnlyForRedisClusterReplicas())) {
      for (int i = 0; i < 100; i++) {
        String key = "r" + i;
        jedis.set(key, "v");
        Report.eventually(
            "a follower has " + key,
            () ->
                "v"
                    .equals(
                        jedis.executeCommandToReplica(
                            new CommandObjects(RedisProtocol.RESP3).get(key))));
        jedis.del(key);
      }
    }
  }

  private static void oneSeed() {
    try (RedisClusterClient jedis = RedisClusterClient.create(SEEDS.iterator().next())) {
      for (int i = 0; i < 100; i++) jedis.set("one" + i, "v");
      for (int i = 0; i < 100; i++) Report.same("v", jedis.getDel("one" + i));
    }
  }

  private static final class ShardListener extends JedisShardedPubSub {
    private final BlockingQueue<String> heard;

    ShardListener(BlockingQueue<String> heard) {
      this.heard = heard;
    }

    @Override
    public void onSSubscribe(String channel, int count) {
      heard.add("+" + channel);
    }

    @Override
    public void onSMessage(String channel, String message) {
      heard.add(channel + " " + message);
    }
  }
}
