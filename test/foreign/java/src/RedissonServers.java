import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.api.redisnode.RedisNodes;
import org.redisson.config.Config;
import org.redisson.config.Protocol;
import org.redisson.config.ReadMode;

/** Redisson with one server (a gateway port) and with a cluster. */
final class RedissonServers {
  /**
   * What is not answered in time is sent again, also what counts: the default of 3 s is short here.
   */
  private static final int TIMEOUT_MS = 30_000;

  private RedissonServers() {}

  static void all() {
    for (Protocol protocol : Protocol.values()) {
      with("redisson, gateway, " + protocol, gateway(protocol));
      with("redisson, cluster, " + protocol, cluster(protocol));
    }
    Report.of("redisson, cluster");
    Report.tries("reads from masters and slaves", RedissonServers::readMode);
    Report.tries("its view of the nodes", RedissonServers::nodes);
    Report.tries("users", RedissonServers::users);
  }

  private static void with(String name, Config config) {
    Report.of(name);
    RedissonClient redisson = Redisson.create(config);
    new RedissonObjects(redisson).all();
    new RedissonScripts(redisson).all();
    redisson.shutdown();
  }

  static Config gateway(Protocol protocol) {
    Cluster.Place place = Cluster.gateways().get(0);
    Config config = new Config().setProtocol(protocol);
    config
        .useSingleServer()
        .setAddress(url(place))
        .setClientName("redisson")
        .setTimeout(TIMEOUT_MS);
    return config;
  }

  static Config cluster(Protocol protocol) {
    Config config = new Config().setProtocol(protocol);
    String[] urls =
        Cluster.clusterPorts().stream().map(RedissonServers::url).toArray(String[]::new);
    config
        .useClusterServers()
        .addNodeAddress(urls)
        .setClientName("redisson")
        .setTimeout(TIMEOUT_MS);
    return config;
  }

  private static String url(Cluster.Place place) {
    return "redis://" + place.host() + ":" + place.port();
  }

  /** CLUSTER NODES, which Redisson asks, names no followers: it reads from leaders. */
  private static void readMode() {
    for (ReadMode mode : ReadMode.values()) {
      Config config = cluster(Protocol.RESP3);
      config.useClusterServers().setReadMode(mode);
      RedissonClient redisson = Redisson.create(config);
      for (int i = 0; i < 100; i++) {
        redisson.getBucket("rm" + i).set(mode.toString());
        Report.same(mode.toString(), redisson.getBucket("rm" + i).get());
      }
      redisson.shutdown();
    }
  }

  private static void nodes() {
    RedissonClient redisson = Redisson.create(cluster(Protocol.RESP3));
    var nodes = redisson.getRedisNodes(RedisNodes.CLUSTER);
    Report.same(3, nodes.getMasters().size());
    Report.holds("all answer PING", nodes.pingAll());
    for (var node : nodes.getMasters()) {
      Report.same("ok", node.clusterInfo().get("cluster_state"));
      Report.holds("its time", node.time().getSeconds() > 0);
    }
    redisson.shutdown();
  }

  private static void users() {
    Config config = cluster(Protocol.RESP3).setUsername("nobody").setPassword("wrong");
    Report.refuses("WRONGPASS", () -> Redisson.create(config));
  }
}
