import java.util.List;
import java.util.stream.Stream;

/**
 * Clients of Java against a cluster: `java ... Suite [WORDS]`, words of the names of what to try.
 *
 * <p>Not tried: streams, functions and caches of Lettuce and Redisson; and, since kvorum has them not, modules.
 */
public final class Suite {
  private Suite() {}

  public static void main(String[] words) throws Exception {
    Report.only(words);
    JedisGateway.all();
    JedisClusterPort.all();
    JedisSince7.all();
    LettuceGateway.all();
    LettuceCluster.all();
    RedissonServers.all();
    Faults.all("all", everyone(), 0);
    Faults.all("redisson, one leader after the other", RedissonFaults.clusterClients(), 1_000);
    System.exit(Report.failed > 0 ? 1 : 0);
  }

  private static List<Faults.Named> everyone() {
    return Stream.of(JedisFaults.clients(), LettuceFaults.clients(), RedissonFaults.clients())
        .flatMap(List::stream)
        .toList();
  }
}
