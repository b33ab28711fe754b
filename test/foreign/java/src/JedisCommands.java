import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.List;
import java.util.Map;
import java.util.Set;
import redis.clients.jedis.GeoCoordinate;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.args.BitOP;
import redis.clients.jedis.args.ExpiryOption;
import redis.clients.jedis.args.GeoUnit;
import redis.clients.jedis.args.ListDirection;
import redis.clients.jedis.args.SortedSetOption;
import redis.clients.jedis.params.GeoSearchParam;
import redis.clients.jedis.params.GetExParams;
import redis.clients.jedis.params.LCSParams;
import redis.clients.jedis.params.LPosParams;
import redis.clients.jedis.params.SetParams;
import redis.clients.jedis.params.SortingParams;
import redis.clients.jedis.params.ZAddParams;
import redis.clients.jedis.params.ZRangeParams;

/** What Jedis makes of the replies of each kind of value, at either port and in either protocol. */
final class JedisCommands {
  private final UnifiedJedis jedis;

  JedisCommands(UnifiedJedis jedis) {
    this.jedis = jedis;
  }

  void all() {
    Report.tries("strings", this::strings);
    Report.tries("bits, HyperLogLogs", this::bits);
    Report.tries("hashes and deadlines of fields", this::hashes);
    Report.tries("lists", this::lists);
    Report.tries("sets", this::sets);
    Report.tries("sorted sets", this::sortedSets);
    Report.tries("geo", this::geo);
    Report.tries("keys", this::keys);
    Report.tries("large values", this::largeValues);
    Report.tries("scripts", this::scripts);
    Report.tries("errors", this::errors);
  }

  private void strings() {
    jedis.del("s");
    Report.same("OK", jedis.set("s", "1", SetParams.setParams().nx().ex(100)));
    Report.same(null, jedis.set("s", "2", SetParams.setParams().nx()));
    Report.same("1", jedis.setGet("s", "2", SetParams.setParams().keepTtl()));
    Report.holds("TTL is kept", jedis.ttl("s") > 90);
    Report.same("2", jedis.getEx("s", GetExParams.getExParams().persist()));
    Report.same(-1L, jedis.ttl("s"));
    Report.same(12L, jedis.incrBy("s", 10));
    Report.same(12.5, jedis.incrByFloat("s", 0.5));
    Report.same(6L, jedis.append("s", "ab"));
    Report.same("5a", jedis.getrange("s", 3, 4));
    byte[] bytes = {0, -1, 13, 10, 36};
    jedis.set("bytes".getBytes(UTF_8), bytes);
    Report.holds("bytes", java.util.Arrays.equals(bytes, jedis.get("bytes".getBytes(UTF_8))));
    jedis.set("{s}1", "ohmytext");
    jedis.set("{s}2", "mynewtext");
    LCSParams withIndices = LCSParams.LCSParams().idx().withMatchLen();
    Report.same(6L, jedis.lcs("{s}1", "{s}2", withIndices).getLen());
    Report.same("12.5ab", jedis.getDel("s"));
    Report.same(null, jedis.get("s"));
  }

  private void bits() {
    jedis.del("{b}1", "{b}2", "{b}p", "{b}q");
    Report.same(false, jedis.setbit("{b}1", 7, true));
    Report.same(true, jedis.getbit("{b}1", 7));
    jedis.set("{b}2", "a");
    Report.same(1L, jedis.bitop(BitOP.OR, "{b}3", "{b}1", "{b}2"));
    Report.same(3L, jedis.bitcount("{b}3"));
    Report.same(List.of(0L, 5L), jedis.bitfield("{b}f", "SET", "u8", "0", "5", "GET", "u8", "0"));
    jedis.del("{b}f");
    Report.same(1L, jedis.pfadd("{b}p", "a", "b", "c"));
    jedis.pfadd("{b}q", "d");
    Report.same(4L, jedis.pfcount("{b}p", "{b}q"));
  }

  private void hashes() {
    jedis.del("h");
    Report.same(2L, jedis.hset("h", Map.of("a", "1", "b", "2")));
    Report.same(Map.of("a", "1", "b", "2"), jedis.hgetAll("h"));
    Report.same(java.util.Arrays.asList("1", null), jedis.hmget("h", "a", "x"));
    Report.same(1.5, jedis.hincrByFloat("h", "a", 0.5));
    Report.same(1, jedis.hrandfieldWithValues("h", 1).size());
    Report.same(List.of(1L, -2L), jedis.hexpire("h", 100, ExpiryOption.NX, "a", "x"));
    Report.same(List.of(100L, -1L), jedis.httl("h", "a", "b"));
    Report.same(List.of(1L), jedis.hpersist("h", "a"));
    Report.same(2, jedis.hscan("h", "0").getResult().size());
  }

  private void lists() {
    jedis.del("{l}1", "{l}2");
    Report.same(4L, jedis.rpush("{l}1", "a", "b", "c", "b"));
    Report.same(List.of(1L, 3L), jedis.lpos("{l}1", "b", LPosParams.lPosParams(), 0));
    ListDirection left = ListDirection.LEFT;
    Report.same("a", jedis.lmove("{l}1", "{l}2", left, ListDirection.RIGHT));
    Report.same(List.of("b", "c"), jedis.lmpop(left, 2, "{l}3", "{l}1").getValue());
    Report.same(null, jedis.lmpop(left, "{l}3"));
    Report.same(null, jedis.lpop("{l}3"));
    Report.same(List.of("a"), jedis.lrange("{l}2", 0, -1));
    Report.same(List.of("{l}2", "a"), jedis.blpop(1, "{l}3", "{l}2"));
    Report.same(null, jedis.blpop(0.1, "{l}3"));
  }

  private void sets() {
    jedis.del("{t}1", "{t}2");
    jedis.sadd("{t}1", "a", "b", "c");
    jedis.sadd("{t}2", "b", "c", "d");
    Report.same(Set.of("b", "c"), jedis.sinter("{t}1", "{t}2"));
    Report.same(Set.of("a"), jedis.sdiff("{t}1", "{t}2"));
    Report.same(2L, jedis.sintercard("{t}1", "{t}2"));
    Report.same(List.of(true, false), jedis.smismember("{t}1", "a", "x"));
    Report.same(3, jedis.spop("{t}1", 10).size());
    Report.same(null, jedis.spop("{t}1"));
    Report.same(Set.of(), jedis.smembers("{t}1"));
  }

  private void sortedSets() {
    jedis.del("{z}1", "{z}2");
    jedis.zadd("{z}1", Map.of("a", 1.0, "b", 2.5, "c", Double.POSITIVE_INFINITY));
    Report.same(2.5, jedis.zscore("{z}1", "b"));
    Report.same(null, jedis.zscore("{z}1", "x"));
    Report.same(Double.POSITIVE_INFINITY, jedis.zrangeWithScores("{z}1", -1, -1).get(0).getScore());
    Report.same(3.5, jedis.zaddIncr("{z}1", 1, "b", ZAddParams.zAddParams().xx()));
    Report.same(null, jedis.zaddIncr("{z}1", 1, "b", ZAddParams.zAddParams().nx()));
    Report.same(java.util.Arrays.asList(1.0, null), jedis.zmscore("{z}1", "a", "x"));
    ZRangeParams byScore = ZRangeParams.zrangeByScoreParams(3.5, 1).rev().limit(0, 1);
    Report.same(List.of("b"), jedis.zrange("{z}1", byScore));
    Report.same(1.0, jedis.zrankWithScore("{z}1", "a").getValue());
    Report.same(List.of("a"), jedis.zrandmember("{z}1", 9).stream().filter("a"::equals).toList());
    Report.same(3L, jedis.zrangestore("{z}2", "{z}1", ZRangeParams.zrangeParams(0, -1)));
    Report.same("a", jedis.zpopmin("{z}2").getElement());
    Report.same("b", jedis.zmpop(SortedSetOption.MIN, "{z}2").getValue().get(0).getElement());
    Report.same("c", jedis.bzpopmax(1, "{z}2").getValue().getElement());
    Report.same(null, jedis.bzmpop(0.1, SortedSetOption.MIN, "{z}2"));
    Report.same(3, jedis.zscan("{z}1", "0").getResult().size());
  }

  private void geo() {
    jedis.del("g");
    jedis.geoadd("g", 13.361389, 38.115556, "Palermo");
    jedis.geoadd("g", 15.087269, 37.502669, "Catania");
    Report.same(166.2742, jedis.geodist("g", "Palermo", "Catania", GeoUnit.KM));
    GeoCoordinate place = new GeoCoordinate(15, 37);
    GeoSearchParam around =
        GeoSearchParam.geoSearchParam().fromLonLat(place).byRadius(200, GeoUnit.KM);
    var found = jedis.geosearch("g", around.withDist().withCoord().withHash().asc());
    Report.same("Catania", found.get(0).getMemberByString());
    Report.same(56.4413, found.get(0).getDistance());
    Report.same(3479447370796909L, found.get(0).getRawScore());
    Report.same(15.087267458438873, found.get(0).getCoordinate().getLongitude());
    Report.same(null, jedis.geopos("g", "nobody").get(0));
  }

  private void keys() {
    jedis.del("{k}1", "{k}2", "{k}l", "{k}o");
    jedis.set("{k}1", "v");
    byte[] dump = jedis.dump("{k}1");
    Report.same("OK", jedis.restore("{k}2", 0, dump));
    Report.same(false, jedis.copy("{k}1", "{k}2", false));
    Report.same("OK", jedis.rename("{k}1", "{k}3"));
    Report.same("string", jedis.type("{k}3"));
    Report.same("none", jedis.type("{k}1"));
    Report.same(1L, jedis.expireAt("{k}3", 33177117420L));
    Report.same(33177117420L, jedis.expireTime("{k}3"));
    Report.same("embstr", jedis.objectEncoding("{k}3"));
    jedis.rpush("{k}l", "3", "1", "2");
    Report.same(List.of("3", "2"), jedis.sort("{k}l", new SortingParams().desc().limit(0, 2)));
    Report.same(3L, jedis.sort("{k}l", "{k}o"));
    Report.same(1L, jedis.touch("{k}3"));
    Report.same(1L, jedis.unlink("{k}3"));
  }

  private void largeValues() {
    byte[] key = "large".getBytes(UTF_8);
    byte[] value = new byte[8 * 1024 * 1024];
    new java.util.Random(1).nextBytes(value);
    jedis.set(key, value);
    Report.holds("8 MiB come back", java.util.Arrays.equals(value, jedis.get(key)));
    jedis.del(key);
  }

  private void errors() {
    jedis.set("e", "text");
    Report.refuses("WRONGTYPE", () -> jedis.lpush("e", "x"));
    Report.refuses("ERR value is not an integer", () -> jedis.incr("e"));
    Report.refuses("ERR unknown command", () -> jedis.jsonGet("e"));
  }

  /** A lock that is given back by who holds it alone, by digest and by body as frameworks do it. */
  private void scripts() {
    String body =
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
            + " --" + System.nanoTime();
    String digest = Report.sha1(body);
    jedis.set("lock", "mine");
    Report.refuses("NOSCRIPT", () -> jedis.evalsha(digest, List.of("lock"), List.of("mine")));
    Report.same(0L, jedis.eval(body, List.of("lock"), List.of("theirs")));
    Report.same(1L, jedis.evalsha(digest, List.of("lock"), List.of("mine")));
    Report.same(0L, jedis.evalsha(digest, 1, "lock", "mine"));
    Report.same(List.of(1L, "a", List.of(2L)), jedis.eval("return {1, 'a', {2}, nil, 3}"));
    Report.refuses("my own", () -> jedis.eval("return redis.error_reply('my own')", 1, "lock"));
    Report.same("1", jedis.evalReadonly("return ARGV[1]", List.of("lock"), List.of("1")));
  }
}
