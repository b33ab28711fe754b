import io.lettuce.core.ClientOptions;
import io.lettuce.core.KeyValue;
import io.lettuce.core.LettuceFutures;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.ScanStream;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.TransactionResult;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.masterreplica.MasterReplica;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import reactor.core.publisher.Flux;

/** Lettuce at a gateway port: one server with all keys. */
final class LettuceGateway {
  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final RedisURI SERVER = uri(Cluster.gateways().get(0)).build();

  private LettuceGateway() {}

  static void all() throws Exception {
    for (ProtocolVersion protocol : ProtocolVersion.values()) {
      Report.of("lettuce, gateway, " + protocol);
      RedisClient client = client(ClientOptions.builder().protocolVersion(protocol).build());
      new LettuceCommands(cluster(client)).all();
      each(client);
      client.shutdown();
    }
    Report.of("lettuce, gateway");
    Report.tries("defaults of everything", LettuceGateway::defaults);
    Report.tries("users", LettuceGateway::users);
    Report.tries("MasterReplica", LettuceGateway::masterReplica);
    Report.tries("a connection without reconnects", LettuceGateway::noReconnect);
  }

  static RedisURI.Builder uri(Cluster.Place place) {
    return RedisURI.builder()
        .withHost(place.host())
        .withPort(place.port())
        .withClientName("lettuce")
        .withTimeout(MINUTE);
  }

  static RedisClient client(ClientOptions options) {
    RedisClient client = RedisClient.create(SERVER);
    client.setOptions(options);
    return client;
  }

  /** The commands of one server have no common interface with those of a cluster but this. */
  @SuppressWarnings("unchecked")
  private static io.lettuce.core.cluster.api.sync.RedisClusterCommands<String, String> cluster(
      RedisClient client) {
    return client.connect().sync();
  }

  private static void each(RedisClient client) {
    Report.tries("10,000 commands, flushed at once", () -> pipeline(client));
    Report.tries("reactive", () -> reactive(client));
    Report.tries("a transaction with WATCH", () -> transaction(client));
    Report.tries("blocking", () -> blocking(client));
    Report.tries("publish and subscribe", () -> pubsub(client));
    Report.tries("connections that the server closes come back", () -> killed(client));
    Report.tries("commands that take too long", () -> timeouts(client));
  }

  private static void pipeline(RedisClient client) {
    try (StatefulRedisConnection<String, String> connection = client.connect()) {
      connection.sync().del("p");
      connection.setAutoFlushCommands(false);
      List<RedisFuture<Long>> counts = new ArrayList<>();
      for (int i = 0; i < 10_000; i++) counts.add(connection.async().incr("p"));
      connection.flushCommands();
      LettuceFutures.awaitAll(MINUTE, counts.toArray(RedisFuture[]::new));
      for (int i = 0; i < counts.size(); i++)
        Report.same(i + 1L, counts.get(i).toCompletableFuture().join());
    }
  }

  private static void reactive(RedisClient client) {
    try (StatefulRedisConnection<String, String> connection = client.connect()) {
      var redis = connection.reactive();
      var written =
          Flux.range(0, 1_000).flatMap(i -> redis.set("re:" + i, "v" + i)).count().block(MINUTE);
      Report.same(1_000L, written);
      var found = ScanStream.scan(redis, ScanArgs.Builder.matches("re:*").limit(100)).collectList();
      List<String> keys = found.block(MINUTE);
      Report.same(1_000, keys.size());
      Report.same(1_000L, redis.del(keys.toArray(String[]::new)).block(MINUTE));
    }
  }

  private static void transaction(RedisClient client) {
    try (StatefulRedisConnection<String, String> connection = client.connect();
        StatefulRedisConnection<String, String> other = client.connect()) {
      RedisCommands<String, String> redis = connection.sync();
      redis.set("{x}1", "1");
      redis.watch("{x}1");
      redis.multi();
      redis.incr("{x}1");
      redis.lpush("{x}1", "wrong");
      TransactionResult done = redis.exec();
      Report.same(2L, done.get(0));
      Report.holds("an error in its place", done.get(1) instanceof Exception);
      redis.watch("{x}1");
      other.sync().set("{x}1", "5");
      redis.multi();
      redis.incr("{x}1");
      Report.holds("WATCH sees it", redis.exec().wasDiscarded());
      redis.multi();
      redis.incr("{x}1");
      Report.same("OK", redis.discard());
      Report.same("5", redis.get("{x}1"));
    }
  }

  private static void blocking(RedisClient client) throws Exception {
    try (StatefulRedisConnection<String, String> waits = client.connect();
        StatefulRedisConnection<String, String> pushes = client.connect()) {
      pushes.sync().del("q");
      RedisFuture<KeyValue<String, String>> taken = waits.async().blpop(30, "q");
      pushes.sync().rpush("q", "e");
      Report.same(KeyValue.just("q", "e"), taken.get());
      Report.same(null, waits.sync().blmove("q", "{q}", args(), 0.2));
    }
  }

  private static io.lettuce.core.LMoveArgs args() {
    return io.lettuce.core.LMoveArgs.Builder.leftRight();
  }

  private static void pubsub(RedisClient client) throws Exception {
    BlockingQueue<String> heard = new LinkedBlockingQueue<>();
    try (StatefulRedisPubSubConnection<String, String> hears = client.connectPubSub();
        StatefulRedisConnection<String, String> says = client.connect()) {
      hears.addListener(new Listener(heard));
      hears.sync().subscribe("c1", "c2");
      hears.sync().psubscribe("c*");
      for (int i = 0; i < 3; i++) heard.take();
      Report.same(2L, says.sync().publish("c1", "hello"));
      Report.same("c1 hello", heard.take());
      Report.same("c* c1 hello", heard.take());
      hears.sync().ping();
      Report.same(List.of("c1", "c2"), says.sync().pubsubChannels("c?").stream().sorted().toList());
      hears.sync().unsubscribe("c1", "c2");
      hears.sync().punsubscribe("c*");
      Report.same(0L, says.sync().publish("c1", "nobody"));
    }
  }

  /** Lettuce subscribes again by itself. */
  private static void killed(RedisClient client) throws Exception {
    BlockingQueue<String> heard = new LinkedBlockingQueue<>();
    try (StatefulRedisConnection<String, String> connection = client.connect();
        StatefulRedisPubSubConnection<String, String> hears = client.connectPubSub();
        StatefulRedisConnection<String, String> admin = client.connect()) {
      hears.addListener(new Listener(heard));
      long id = hears.sync().clientId();
      hears.sync().subscribe("killed");
      admin.sync().clientKill(io.lettuce.core.KillArgs.Builder.id(id));
      admin.sync().clientKill(io.lettuce.core.KillArgs.Builder.id(connection.sync().clientId()));
      connection.sync().set("killed", "1");
      Report.same("1", connection.sync().get("killed"));
      Report.eventually("subscribed again", () -> admin.sync().publish("killed", "again") == 1);
      Report.eventually("heard", () -> heard.contains("killed again"));
    }
  }

  private static void timeouts(RedisClient client) throws Exception {
    try (StatefulRedisConnection<String, String> connection = client.connect()) {
      connection.setTimeout(Duration.ofMillis(200));
      connection.sync().del("never");
      Report.refuses("Command timed out", () -> connection.sync().blpop(1, "never"));
      Thread.sleep(1_000);
      Report.same("PONG", connection.sync().ping());
    }
  }

  private static void defaults() {
    Cluster.Place place = Cluster.gateways().get(1);
    RedisClient client = RedisClient.create("redis://" + place.host() + ":" + place.port() + "/0");
    try (StatefulRedisConnection<String, String> connection = client.connect()) {
      connection.sync().set("d", "1");
      Report.same("1", connection.sync().get("d"));
    }
    client.shutdown();
  }

  private static void users() {
    RedisClient client = client(ClientOptions.create());
    try (StatefulRedisConnection<String, String> admin = client.connect()) {
      var rules =
          io.lettuce.core.AclSetuserArgs.Builder.on().addPassword("secret").keyPattern("cia:*");
      admin.sync().aclSetuser("cia", rules.allCommands());
    }
    Cluster.Place place = Cluster.gateways().get(0);
    RedisURI right = uri(place).withAuthentication("cia", "secret").build();
    try (StatefulRedisConnection<String, String> cia = client.connect(right)) {
      Report.same("OK", cia.sync().set("cia:1", "v"));
      Report.refuses("NOPERM", () -> cia.sync().set("other", "v"));
    }
    RedisURI wrong = uri(place).withAuthentication("cia", "wrong").build();
    Report.refuses("WRONGPASS", () -> client.connect(wrong));
    client.shutdown();
  }

  /** It asks ROLE and INFO for replicas, and finds none. */
  private static void masterReplica() {
    RedisClient client = client(ClientOptions.create());
    try (var connection = MasterReplica.connect(client, StringCodec.UTF8, SERVER)) {
      connection.setReadFrom(io.lettuce.core.ReadFrom.REPLICA_PREFERRED);
      connection.sync().set("mr", "1");
      Report.same("1", connection.sync().get("mr"));
    }
    client.shutdown();
  }

  private static void noReconnect() {
    TimeoutOptions timeouts = TimeoutOptions.enabled(MINUTE);
    RedisClient client =
        client(ClientOptions.builder().autoReconnect(false).timeoutOptions(timeouts).build());
    try (StatefulRedisConnection<String, String> connection = client.connect();
        StatefulRedisConnection<String, String> admin = client.connect()) {
      long id = connection.sync().clientId();
      admin.sync().clientKill(io.lettuce.core.KillArgs.Builder.id(id));
      Report.eventually("closed", () -> !connection.isOpen());
      Report.refuses("", () -> connection.sync().ping());
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
    client.shutdown();
  }

  static final class Listener extends RedisPubSubAdapter<String, String> {
    private final BlockingQueue<String> heard;

    Listener(BlockingQueue<String> heard) {
      this.heard = heard;
    }

    @Override
    public void subscribed(String channel, long count) {
      heard.add("+" + channel);
    }

    @Override
    public void psubscribed(String pattern, long count) {
      heard.add("+" + pattern);
    }

    @Override
    public void ssubscribed(String channel, long count) {
      heard.add("+" + channel);
    }

    @Override
    public void message(String channel, String message) {
      heard.add(channel + " " + message);
    }

    @Override
    public void message(String pattern, String channel, String message) {
      heard.add(pattern + " " + channel + " " + message);
    }

    @Override
    public void smessage(String channel, String message) {
      heard.add(channel + " " + message);
    }
  }
}
