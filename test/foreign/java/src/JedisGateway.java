import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.Response;

/** Jedis at a gateway port: one server with all keys. */
final class JedisGateway {
  private static final Cluster.Place PLACE = Cluster.gateways().get(0);
  static final HostAndPort SERVER = new HostAndPort(PLACE.host(), PLACE.port());
  private static final int POOL = 16;

  private JedisGateway() {}

  static void all() {
    for (RedisProtocol protocol : List.of(RedisProtocol.RESP2, RedisProtocol.RESP3)) {
      Report.of("jedis, gateway, " + protocol);
      try (RedisClient jedis = open(config().protocol(protocol))) {
        new JedisCommands(jedis).all();
        each(jedis);
      }
    }
    Report.of("jedis, gateway");
    Report.tries("defaults of everything", JedisGateway::defaults);
    Report.tries("the old JedisPool", JedisGateway::oldPool);
    Report.tries("users", JedisGateway::users);
    Report.tries("more threads than connections", JedisGateway::manyThreads);
    Report.tries("connections that the server closes are replaced", JedisGateway::killed);
  }

  static DefaultJedisClientConfig.Builder config() {
    return DefaultJedisClientConfig.builder().clientName("jedis").socketTimeoutMillis(30_000);
  }

  static RedisClient open(DefaultJedisClientConfig.Builder config) {
    ConnectionPoolConfig pool = new ConnectionPoolConfig();
    pool.setMaxTotal(POOL);
    return RedisClient.builder()
        .hostAndPort(SERVER)
        .clientConfig(config.build())
        .poolConfig(pool)
        .build();
  }

  private static void each(RedisClient jedis) {
    Report.tries("keys of many partitions", () -> manyPartitions(jedis));
    Report.tries("a pipeline of 10,000", () -> pipeline(jedis));
    Report.tries("a transaction", () -> transaction(jedis));
    Report.tries("WATCH", () -> watch(jedis));
    Report.tries("blocking", () -> blocking(jedis));
    Report.tries("publish and subscribe", () -> pubsub(jedis));
    Report.tries("scanIteration", () -> scan(jedis));
    Report.tries("what is about the server", () -> server(jedis));
  }

  private static void manyPartitions(RedisClient jedis) {
    String[] pairs =
        IntStream.range(0, 200)
            .boxed()
            .flatMap(i -> List.of("m" + i, "v" + i).stream())
            .toArray(String[]::new);
    String[] keys = IntStream.range(0, 200).mapToObj(i -> "m" + i).toArray(String[]::new);
    Report.same("OK", jedis.mset(pairs));
    Report.same("v199", jedis.mget(keys).get(199));
    Report.same(200L, jedis.exists(keys));
    Report.same(200L, jedis.del(keys));
  }

  private static void pipeline(RedisClient jedis) {
    List<Response<Long>> counts = new ArrayList<>();
    jedis.del("p");
    try (Pipeline pipeline = jedis.pipelined()) {
      for (int i = 0; i < 10_000; i++)
        counts.add(i % 2 == 0 ? pipeline.incr("p") : pipeline.del("p" + i));
      pipeline.sync();
    }
    Report.same(5_000L, counts.get(9_998).get());
    Report.same(0L, counts.get(9_999).get());
  }

  private static void transaction(RedisClient jedis) {
    jedis.del("{x}1", "{x}2");
    try (var transaction = jedis.multi()) {
      Response<String> set = transaction.set("{x}1", "1");
      Response<Long> count = transaction.incr("{x}1");
      transaction.lpush("{x}1", "wrong");
      List<Object> replies = transaction.exec();
      Report.same(3, replies.size());
      Report.same("OK", set.get());
      Report.same(2L, count.get());
      Report.holds("an error in its place", replies.get(2) instanceof Exception);
    }
    try (var transaction = jedis.multi()) {
      transaction.set("{x}1", "3");
      transaction.discard();
    }
    Report.same("2", jedis.get("{x}1"));
  }

  private static void watch(RedisClient jedis) {
    jedis.set("w", "1");
    try (var transaction = jedis.transaction(false)) {
      transaction.watch("w");
      jedis.set("w", "2");
      transaction.multi();
      transaction.set("w", "3");
      Report.same(null, transaction.exec());
    }
    try (var transaction = jedis.transaction(false)) {
      transaction.watch("w");
      transaction.multi();
      transaction.set("w", "4");
      Report.same(List.of("OK"), transaction.exec());
    }
    Report.same("4", jedis.get("w"));
  }

  private static void blocking(RedisClient jedis) throws Exception {
    jedis.del("q", "{q}2");
    BlockingQueue<Object> taken = new LinkedBlockingQueue<>();
    List<Future<?>> waiting = new ArrayList<>();
    for (int i = 0; i < 8; i++)
      waiting.add(Report.inBackground(() -> taken.add(jedis.blpop(30, "q"))));
    for (int i = 0; i < 8; i++) jedis.rpush("q", "e" + i);
    for (Future<?> each : waiting) each.get();
    Report.same(8, new HashSet<>(taken).size());
    Report.same(null, jedis.brpop(1, "q"));
  }

  private static void pubsub(RedisClient jedis) throws Exception {
    BlockingQueue<String> heard = new LinkedBlockingQueue<>();
    JedisPubSub listener = new Listener(heard);
    Future<?> listening = Report.inBackground(() -> jedis.subscribe(listener, "c1", "c2"));
    Report.same("+c1 1", heard.take());
    Report.same("+c2 2", heard.take());
    listener.psubscribe("c*");
    Report.same("+c* 3", heard.take());
    Report.same(2L, jedis.publish("c1", "hello"));
    Report.same("c1 hello", heard.take());
    Report.same("c* c1 hello", heard.take());
    Report.eventually(
        "a pong (Jedis forgets those that come before it has noted its ping)",
        () -> {
          listener.ping("there?");
          return "pong there?".equals(heard.poll(1, TimeUnit.SECONDS));
        });
    listener.unsubscribe();
    listener.punsubscribe();
    listening.get();
    Report.same(0L, jedis.publish("c1", "nobody"));
  }

  private static void scan(RedisClient jedis) {
    try (Pipeline pipeline = jedis.pipelined()) {
      for (int i = 0; i < 3_000; i++) pipeline.set("scan:" + i, "v");
    }
    Set<String> seen = new HashSet<>();
    jedis.scanIteration(500, "scan:*").collect(seen);
    Report.same(3_000, seen.size());
    Report.same(3_000, jedis.keys("scan:*").size());
    Set<String> hashes = new HashSet<>();
    jedis.hset("scan:hash", "f", "v");
    jedis.scanIteration(500, "scan:*", "hash").collect(hashes);
    Report.same(Set.of("scan:hash"), hashes);
    jedis.del("scan:hash");
    try (Pipeline pipeline = jedis.pipelined()) {
      for (String key : seen) pipeline.unlink(key);
    }
  }

  private static void server(RedisClient jedis) {
    Report.same("PONG", jedis.ping());
    Report.holds("INFO", jedis.info("server").contains("redis_version:7"));
    Report.holds("DBSIZE", jedis.dbSize() >= 0);
    Report.same("0", jedis.configGet("timeout").get("timeout"));
    try (Jedis one = new Jedis(SERVER, config().build())) {
      Report.same("jedis", one.clientGetname());
      Report.holds("its library is known", one.clientInfo().contains("lib-name=jedis"));
      Report.holds("CLIENT LIST", one.clientList().contains("name=jedis"));
      Report.holds("COMMAND COUNT", one.commandCount() > 200);
      Report.same("OK", one.slowlogReset());
      Report.holds("TIME", one.time().size() == 2);
      Report.holds("MEMORY USAGE", one.memoryUsage("nothing") == null);
      Report.same("OK", one.select(0));
    }
  }

  private static void defaults() {
    try (RedisClient jedis = RedisClient.create(SERVER)) {
      jedis.set("d", "1");
      Report.same("1", jedis.get("d"));
    }
  }

  private static void oldPool() {
    try (JedisPool pool = new JedisPool(SERVER.getHost(), SERVER.getPort());
        Jedis jedis = pool.getResource()) {
      jedis.set("d", "2");
      Report.same("2", jedis.get("d"));
      Report.same("value", jedis.echo("value"));
    }
  }

  private static void users() {
    try (RedisClient jedis = open(config())) {
      try (Jedis admin = new Jedis(SERVER)) {
        admin.aclSetUser("ana", "on", ">secret", "~ana:*", "&*", "+@all", "-@dangerous");
      }
      try (RedisClient ana = open(config().user("ana").password("secret"))) {
        Report.same("OK", ana.set("ana:1", "v"));
        Report.refuses("NOPERM", () -> ana.set("other", "v"));
        Report.refuses("NOPERM", ana::flushAll);
      }
      try (RedisClient wrong = open(config().user("ana").password("wrong"))) {
        Report.refuses("WRONGPASS", () -> wrong.get("ana:1"));
      }
      Report.same("v", jedis.getDel("ana:1"));
    }
  }

  private static void manyThreads() throws Exception {
    try (RedisClient jedis = open(config())) {
      jedis.del("many");
      List<Future<?>> threads = new ArrayList<>();
      for (int i = 0; i < 4 * POOL; i++) {
        threads.add(
            Report.inBackground(
                () -> {
                  for (int n = 0; n < 50; n++) jedis.incr("many");
                }));
      }
      for (Future<?> each : threads) each.get();
      Report.same("" + 4 * POOL * 50, jedis.get("many"));
    }
  }

  private static void killed() {
    ConnectionPoolConfig pool = new ConnectionPoolConfig();
    pool.setTestOnBorrow(true);
    try (RedisClient jedis = RedisClient.builder().hostAndPort(SERVER).poolConfig(pool).build();
        Jedis admin = new Jedis(SERVER)) {
      jedis.set("killed", "1");
      admin.clientKill(
          new redis.clients.jedis.params.ClientKillParams()
              .type(redis.clients.jedis.args.ClientType.NORMAL));
      Report.same("1", jedis.get("killed"));
    }
  }

  static final class Listener extends JedisPubSub {
    private final BlockingQueue<String> heard;

    Listener(BlockingQueue<String> heard) {
      this.heard = heard;
    }

    @Override
    public void onSubscribe(String channel, int count) {
      heard.add("+" + channel + " " + count);
    }

    @Override
    public void onPSubscribe(String pattern, int count) {
      heard.add("+" + pattern + " " + count);
    }

    @Override
    public void onMessage(String channel, String message) {
      heard.add(channel + " " + message);
    }

    @Override
    public void onPMessage(String pattern, String channel, String message) {
      heard.add(pattern + " " + channel + " " + message);
    }

    @Override
    public void onPong(String text) {
      heard.add("pong " + text);
    }
  }
}
