import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.BitFieldArgs;
import io.lettuce.core.CopyArgs;
import io.lettuce.core.GeoArgs;
import io.lettuce.core.GeoSearch;
import io.lettuce.core.KeyValue;
import io.lettuce.core.LMPopArgs;
import io.lettuce.core.LPosArgs;
import io.lettuce.core.Limit;
import io.lettuce.core.Range;
import io.lettuce.core.RestoreArgs;
import io.lettuce.core.ScoredValue;
import io.lettuce.core.SetArgs;
import io.lettuce.core.SortArgs;
import io.lettuce.core.ZAddArgs;
import io.lettuce.core.cluster.api.sync.RedisClusterCommands;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What Lettuce makes of the replies of each kind of value, at either port and in either protocol.
 */
final class LettuceCommands {
  private final RedisClusterCommands<String, String> redis;

  LettuceCommands(RedisClusterCommands<String, String> redis) {
    this.redis = redis;
  }

  void all() {
    Report.tries("strings", this::strings);
    Report.tries("hashes and deadlines of fields", this::hashes);
    Report.tries("lists", this::lists);
    Report.tries("sets", this::sets);
    Report.tries("sorted sets", this::sortedSets);
    Report.tries("geo", this::geo);
    Report.tries("keys", this::keys);
    Report.tries("keys of many slots", this::manySlots);
    Report.tries("scans", this::scans);
    Report.tries("large values", this::largeValues);
    Report.tries("scripts", this::scripts);
    Report.tries("errors", this::errors);
    Report.tries("what is about the server", this::server);
  }

  private void strings() {
    redis.del("s");
    Report.same("OK", redis.set("s", "1", SetArgs.Builder.nx().ex(100)));
    Report.same(null, redis.set("s", "2", SetArgs.Builder.nx()));
    Report.same("1", redis.setGet("s", "2", SetArgs.Builder.keepttl()));
    Report.holds("TTL is kept", redis.ttl("s") > 90);
    Report.same(12L, redis.incrby("s", 10));
    Report.same(12.5, redis.incrbyfloat("s", 0.5));
    Report.same(6L, redis.append("s", "ab"));
    Report.same("12.5ab", redis.getdel("s"));
    Report.same(null, redis.get("s"));
    redis.del("b");
    BitFieldArgs fields = BitFieldArgs.Builder.set(BitFieldArgs.unsigned(8), 0, 5);
    Report.same(List.of(0L, 5L), redis.bitfield("b", fields.get(BitFieldArgs.unsigned(8), 0)));
    Report.same(2L, redis.bitcount("b"));
    redis.del("p");
    Report.same(1L, redis.pfadd("p", "a", "b"));
    Report.same(2L, redis.pfcount("p"));
  }

  private void hashes() {
    redis.del("h");
    Report.same(2L, redis.hset("h", Map.of("a", "1", "b", "2")));
    Report.same(Map.of("a", "1", "b", "2"), redis.hgetall("h"));
    Report.same(List.of(KeyValue.just("a", "1"), KeyValue.empty("x")), redis.hmget("h", "a", "x"));
    Report.same(1.5, redis.hincrbyfloat("h", "a", 0.5));
    Report.same(1, redis.hrandfieldWithvalues("h", 1).size());
    Report.same(List.of(1L, -2L), redis.hexpire("h", 100, "a", "x"));
    Report.same(List.of(100L, -1L), redis.httl("h", "a", "b"));
    Report.same(2, redis.hscan("h").getMap().size());
  }

  private void lists() {
    redis.del("{l}1", "{l}2");
    Report.same(4L, redis.rpush("{l}1", "a", "b", "c", "b"));
    Report.same(List.of(1L, 3L), redis.lpos("{l}1", "b", 0, new LPosArgs()));
    Report.same(
        List.of("a", "b"), redis.lmpop(LMPopArgs.Builder.left().count(2), "{l}1").getValue());
    Report.same(null, redis.lmpop(LMPopArgs.Builder.left(), "{l}3"));
    Report.same(KeyValue.just("{l}1", "c"), redis.blpop(1, "{l}3", "{l}1"));
    Report.same(null, redis.blpop(0.1, "{l}3"));
    Report.same(List.of(), redis.lrange("{l}3", 0, -1));
  }

  private void sets() {
    redis.del("{t}1", "{t}2");
    redis.sadd("{t}1", "a", "b", "c");
    redis.sadd("{t}2", "b", "c", "d");
    Report.same(Set.of("b", "c"), redis.sinter("{t}1", "{t}2"));
    Report.same(2L, redis.sintercard("{t}1", "{t}2"));
    Report.same(List.of(true, false), redis.smismember("{t}1", "a", "x"));
    Report.same(3, redis.spop("{t}1", 10).size());
    Report.same(null, redis.spop("{t}1"));
  }

  private void sortedSets() {
    redis.del("{z}1", "{z}2");
    redis.zadd("{z}1", ScoredValue.just(1, "a"), ScoredValue.just(2.5, "b"));
    redis.zadd("{z}1", Double.POSITIVE_INFINITY, "c");
    Report.same(2.5, redis.zscore("{z}1", "b"));
    Report.same(null, redis.zscore("{z}1", "x"));
    double last = redis.zrangeWithScores("{z}1", -1, -1).get(0).getScore();
    Report.same(Double.POSITIVE_INFINITY, last);
    Report.same(3.5, redis.zaddincr("{z}1", ZAddArgs.Builder.xx(), 1, "b"));
    Report.same(null, redis.zaddincr("{z}1", ZAddArgs.Builder.nx(), 1, "b"));
    Report.same(1.0, redis.zmscore("{z}1", "a", "x").get(0));
    Report.same(
        List.of("b"), redis.zrevrangebyscore("{z}1", Range.create(1, 3.5), Limit.create(0, 1)));
    Report.same(0L, redis.zrank("{z}1", "a"));
    Report.same(3L, redis.zrangestore("{z}2", "{z}1", Range.create(0L, -1L)));
    Report.same(ScoredValue.just(1, "a"), redis.zpopmin("{z}2"));
    Report.same(ScoredValue.just(3.5, "b"), redis.bzpopmin(1, "{z}2").getValue());
    Report.same(3, redis.zscan("{z}1").getValues().size());
  }

  private void geo() {
    redis.del("g");
    redis.geoadd("g", 13.361389, 38.115556, "Palermo");
    redis.geoadd("g", 15.087269, 37.502669, "Catania");
    Report.same(166.2742, redis.geodist("g", "Palermo", "Catania", GeoArgs.Unit.km));
    var from = GeoSearch.<String>fromCoordinates(15, 37);
    GeoArgs all = new GeoArgs().withDistance().withCoordinates().withHash().asc();
    var found = redis.geosearch("g", from, GeoSearch.byRadius(200, GeoArgs.Unit.km), all).get(0);
    Report.same("Catania", found.getMember());
    Report.same(56.4413, found.getDistance());
    Report.same(3479447370796909L, found.getGeohash());
    Report.same(null, redis.geopos("g", "nobody").get(0));
  }

  private void keys() {
    redis.del("{k}1", "{k}2", "{k}l");
    redis.set("{k}1", "v");
    byte[] dump = redis.dump("{k}1");
    Report.same("OK", redis.restore("{k}2", dump, new RestoreArgs().ttl(100_000)));
    Report.same(false, redis.copy("{k}1", "{k}2"));
    Report.same(true, redis.copy("{k}1", "{k}2", CopyArgs.Builder.replace(true)));
    Report.same("OK", redis.rename("{k}1", "{k}3"));
    Report.same("string", redis.type("{k}3"));
    Report.same(true, redis.expireat("{k}3", 33177117420L));
    Report.same(33177117420L, redis.expiretime("{k}3"));
    Report.same("embstr", redis.objectEncoding("{k}3"));
    redis.rpush("{k}l", "3", "1", "2");
    Report.same(List.of("3", "2"), redis.sort("{k}l", SortArgs.Builder.desc().limit(0, 2)));
  }

  private void manySlots() {
    Map<String, String> pairs = new java.util.TreeMap<>();
    for (int i = 0; i < 500; i++) pairs.put("m" + i, "v" + i);
    String[] keys = pairs.keySet().toArray(String[]::new);
    Report.same("OK", redis.mset(pairs));
    Report.same(500L, redis.exists(keys));
    Report.same(500L, redis.touch(keys));
    List<KeyValue<String, String>> values = redis.mget(keys);
    for (int i = 0; i < keys.length; i++) {
      Report.same(KeyValue.just(keys[i], pairs.get(keys[i])), values.get(i));
    }
    Report.same(250L, redis.del(java.util.Arrays.copyOf(keys, 250)));
    Report.same(250L, redis.unlink(keys));
  }

  private void scans() {
    Map<String, String> pairs = new java.util.HashMap<>();
    for (int i = 0; i < 3_000; i++) pairs.put("scan:" + i, "v");
    redis.mset(pairs);
    var args = io.lettuce.core.ScanArgs.Builder.matches("scan:*").limit(500);
    List<String> seen = io.lettuce.core.ScanIterator.scan(redis, args).stream().toList();
    Report.same(3_000, seen.size());
    Report.same(pairs.keySet(), Set.copyOf(seen));
    Report.same(3_000, redis.keys("scan:*").size());
    Report.holds("DBSIZE", redis.dbsize() >= 3_000);
    Report.holds("RANDOMKEY", redis.randomkey() != null);
    Report.same(3_000L, redis.unlink(seen.toArray(String[]::new)));
  }

  private void largeValues() {
    String value = "x".repeat(8 * 1024 * 1024);
    redis.set("large", value);
    Report.holds("8 MiB come back", value.equals(redis.get("large")));
    redis.del("large");
  }

  /** As Spring's RedisScript does it: by digest, and by body where that is not known. */
  private void scripts() {
    String body = "return redis.call('incrby', KEYS[1], ARGV[1]) --" + System.nanoTime();
    String digest = redis.digest(body);
    String[] key = {"script"};
    redis.del(key);
    Report.refuses(
        "NOSCRIPT", () -> redis.evalsha(digest, ScriptOutputType.INTEGER, key, "2"));
    Report.same(2L, redis.<Long>eval(body, ScriptOutputType.INTEGER, key, "2"));
    Report.same(4L, redis.<Long>evalsha(digest, ScriptOutputType.INTEGER, key, "2"));
    Report.same(digest, redis.scriptLoad(body));
    Report.same(List.of(true, false), redis.scriptExists(digest, "0".repeat(40)));
    Report.same(
        List.of(1L, "a", List.of(2L)),
        redis.<List<Object>>eval("return {1, 'a', {2}}", ScriptOutputType.MULTI, key));
    Report.refuses(
        "WRONGTYPE",
        () -> redis.eval("return redis.call('lpush', KEYS[1], 1)", ScriptOutputType.INTEGER, key));
  }

  private void errors() {
    redis.set("e", "text");
    Report.refuses("WRONGTYPE", () -> redis.lpush("e", "x"));
    Report.refuses("ERR value is not an integer", () -> redis.incr("e"));
    Report.refuses("NOTBUSY", () -> redis.functionKill());
    Report.same("text", redis.get("e"));
  }

  private void server() {
    Report.same("PONG", redis.ping());
    Report.holds("INFO", redis.info("server").contains("redis_version:7"));
    Report.same("0", redis.configGet("timeout").get("timeout"));
    Report.holds("CLIENT LIST", redis.clientList().contains("lib-name=Lettuce"));
    Report.holds("CLIENT ID", redis.clientId() > 0);
    Report.holds("COMMAND COUNT", redis.commandCount() > 200);
    Report.holds("COMMAND INFO", redis.commandInfo("get", "mset").size() == 2);
    Report.same("OK", redis.slowlogReset());
    Report.same(2, redis.time().size());
    Report.holds("MEMORY USAGE", redis.memoryUsage("nothing") == null);
    Report.holds("WAIT", redis.waitForReplication(0, 1) >= 0);
    Report.holds("ROLE", "master".equals(redis.role().get(0)));
    Report.same("default", redis.aclWhoami());
  }
}
