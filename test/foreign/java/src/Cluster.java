import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The cluster that the environment names, and what may happen to it. */
final class Cluster {
  record Place(String host, int port) {}

  private record Partition(int number, String wanted, String leader) {}

  static final List<String> NODES = List.of("datanode1", "datanode2", "datanode3");

  private static final HttpClient HTTP = HttpClient.newHttpClient();
  private static final Pattern PARTITION =
      Pattern.compile(
          "\"partition\":(\\d+).*?\"wanted\":\\[\\{\"replica\":\\d+,\"node\":\"([^\"]+)\""
              + ".*?\"leader\":\\{\"node\":\"([^\"]+)\"");

  private Cluster() {}

  /** Any key on any node. */
  static List<Place> gateways() {
    return places("KVORUM_GATEWAYS");
  }

  /** For clients of Redis Cluster. */
  static List<Place> clusterPorts() {
    return places("KVORUM_CLUSTER");
  }

  private static List<Place> places(String name) {
    return Arrays.stream(System.getenv(name).split(","))
        .map(each -> each.split(":"))
        .map(parts -> new Place(parts[0], Integer.parseInt(parts[1])))
        .toList();
  }

  /** Each leader hands over to the node behind its own; a few may be handed back, to be even. */
  static void moveAllLeaders(long pauseMs) throws Exception {
    List<Partition> before = partitions();
    for (Partition partition : before) {
      int own = NODES.indexOf(partition.leader());
      transfer(partition.number(), NODES.get((own + 1) % NODES.size()));
      Thread.sleep(pauseMs);
    }
    Report.eventually(
        "all lead who are wanted",
        () -> {
          List<Partition> now = partitions();
          boolean led = now.stream().allMatch(each -> each.leader().equals(each.wanted()));
          return led && now.size() == before.size() && !now.equals(before);
        });
  }

  private static void transfer(int partition, String to) throws Exception {
    String path = "/v1/namespaces/default/partitions/" + partition + "/transfer-leader";
    HttpRequest request =
        HttpRequest.newBuilder(api(path))
            .header("content-type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString("{\"to\":\"" + to + "\"}"))
            .build();
    HttpResponse<String> answer = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
    Report.holds("a transfer is accepted: " + answer.body(), answer.statusCode() < 300);
  }

  private static List<Partition> partitions() throws Exception {
    HttpRequest request = HttpRequest.newBuilder(api("/v1/namespaces/default/partitions")).build();
    String body = HTTP.send(request, HttpResponse.BodyHandlers.ofString()).body();
    return PARTITION
        .matcher(body)
        .results()
        .map(
            found ->
                new Partition(Integer.parseInt(found.group(1)), found.group(2), found.group(3)))
        .toList();
  }

  private static URI api(String path) {
    return URI.create("http://" + System.getenv("KVORUM_HTTP") + path);
  }

  /** As `kill -9` does; its supervisor starts it again, which this waits for. */
  static void kill(String node) throws Exception {
    long pid = pidOf(node);
    ProcessHandle.of(pid).orElseThrow().destroyForcibly();
    Report.eventually(node + " is back", () -> pidOf(node) != pid);
  }

  /** Returns -1 while it is not there. */
  private static long pidOf(String node) throws IOException {
    Path file = Path.of(System.getenv("KVORUM_DIRECTORY"), "run", node + ".json");
    if (!Files.exists(file)) return -1;
    Matcher found = Pattern.compile("\"pid\":(\\d+)").matcher(Files.readString(file));
    return found.find() ? Long.parseLong(found.group(1)) : -1;
  }
}
