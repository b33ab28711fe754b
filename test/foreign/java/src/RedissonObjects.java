import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.redisson.api.BatchResult;
import org.redisson.api.RAtomicLong;
import org.redisson.api.RBatch;
import org.redisson.api.RBlockingQueue;
import org.redisson.api.RBucket;
import org.redisson.api.RList;
import org.redisson.api.RMap;
import org.redisson.api.RScoredSortedSet;
import org.redisson.api.RSet;
import org.redisson.api.RTopic;
import org.redisson.api.RedissonClient;
import org.redisson.api.options.KeysScanOptions;
import org.redisson.client.codec.LongCodec;
import org.redisson.client.codec.StringCodec;

/**
 * What of Redisson's objects is made of commands alone; {@link RedissonScripts} has the others.
 */
final class RedissonObjects {
  private final RedissonClient redisson;

  RedissonObjects(RedissonClient redisson) {
    this.redisson = redisson;
  }

  void all() {
    Report.tries("RBucket", this::bucket);
    Report.tries("RBuckets", this::buckets);
    Report.tries("RMap", this::map);
    Report.tries("RSet", this::set);
    Report.tries("RList", this::list);
    Report.tries("RScoredSortedSet", this::scored);
    Report.tries("RQueue, RDeque, RBlockingQueue", this::queues);
    Report.tries("RAtomicLong, RAtomicDouble", this::numbers);
    Report.tries("RBitSet, RHyperLogLog, RGeo", this::others);
    Report.tries("RKeys", this::keys);
    Report.tries("RBatch", this::batch);
    Report.tries("RBatch as a transaction", this::atomicBatch);
    Report.tries("RTopic, RPatternTopic", this::topics);
    Report.tries("RShardedTopic", this::shardedTopic);
    Report.tries("Java's objects as values", this::codecs);
  }

  private void bucket() {
    RBucket<String> bucket = redisson.getBucket("b", StringCodec.INSTANCE);
    bucket.delete();
    Report.same(true, bucket.setIfAbsent("1", Duration.ofSeconds(100)));
    Report.same(false, bucket.setIfAbsent("2"));
    Report.holds("TTL", bucket.remainTimeToLive() > 90_000);
    Report.same(true, bucket.setIfExists("2"));
    Report.same("2", bucket.getAndSet("3"));
    bucket.setAndKeepTTL("4");
    Report.same("4", bucket.getAndExpire(Duration.ofSeconds(50)));
    Report.same("4", bucket.getAndClearExpire());
    Report.same(-1L, bucket.remainTimeToLive());
    Report.same(true, bucket.delete());
    Report.same(false, bucket.isExists());
  }

  private void buckets() {
    var buckets = redisson.getBuckets(StringCodec.INSTANCE);
    Map<String, String> values = new java.util.TreeMap<>();
    for (int i = 0; i < 200; i++) values.put("bs" + i, "v" + i);
    buckets.set(values);
    String[] names = values.keySet().toArray(String[]::new);
    Report.same(values, new java.util.TreeMap<>(buckets.<String>get(names)));
    Report.same(200L, redisson.getKeys().delete(names));
  }

  private void map() {
    RMap<String, String> map = redisson.getMap("m", StringCodec.INSTANCE);
    map.delete();
    Report.same(true, map.fastPut("a", "1"));
    Report.same(false, map.fastPutIfAbsent("a", "2"));
    map.putAll(Map.of("b", "2", "c", "3"));
    Report.same("1", map.get("a"));
    Report.same(3, map.size());
    Report.same(Map.of("a", "1", "b", "2"), map.getAll(Set.of("a", "b", "x")));
    Report.same(Set.of("a", "b", "c"), map.readAllKeySet());
    Report.same(3, map.readAllMap().size());
    Report.same(3L, map.entrySet().stream().count());
    Report.same(2L, map.fastRemove("a", "b"));
  }

  private void set() {
    RSet<String> set = redisson.getSet("{rs}1", StringCodec.INSTANCE);
    set.delete();
    Report.same(true, set.add("a"));
    Report.same(true, set.addAll(List.of("b", "c")));
    Report.same(true, set.contains("a"));
    RSet<String> other = redisson.getSet("{rs}2", StringCodec.INSTANCE);
    other.add("b");
    Report.same(Set.of("b"), set.readIntersection("{rs}2"));
    Report.same(true, other.move("{rs}3", "b"));
    Report.same(3L, set.stream().count());
    Report.same(true, set.remove("a"));
    Report.holds("random", set.removeRandom() != null);
  }

  private void list() {
    RList<String> list = redisson.getList("l", StringCodec.INSTANCE);
    list.delete();
    list.addAll(List.of("a", "b", "c"));
    Report.same("b", list.get(1));
    list.fastSet(1, "B");
    Report.same(List.of("a", "B", "c"), list.readAll());
    Report.same(List.of("B", "c"), list.range(1, 2));
    Report.same(true, list.remove("a"));
    list.trim(0, 0);
    Report.same(1, list.size());
  }

  private void scored() {
    RScoredSortedSet<String> set = redisson.getScoredSortedSet("z", StringCodec.INSTANCE);
    set.delete();
    Report.same(true, set.add(1, "a"));
    Report.same(2, set.addAll(Map.of("b", 2.5, "c", 1e300)));
    Report.same(2.5, set.getScore("b"));
    Report.same(3.5, set.addScore("b", 1));
    Report.same(1, set.rank("b"));
    Report.same(3.5, set.rankEntry("b").getScore());
    Report.same(List.of("a", "b"), List.copyOf(set.valueRange(0, 1)));
    Report.same(2, set.entryRange(0, true, 10, true).size());
    Report.same(1.0, set.firstScore());
    Report.same(3L, set.stream().count());
    Report.same(1, set.removeRangeByScore(0, true, 1, true));
  }

  private void queues() throws Exception {
    var queue = redisson.getDeque("{q}1", StringCodec.INSTANCE);
    queue.delete();
    queue.addFirst("b");
    queue.addFirst("a");
    Report.same("a", queue.poll());
    Report.same("b", queue.pollLast());
    RBlockingQueue<String> waits = redisson.getBlockingQueue("{q}1", StringCodec.INSTANCE);
    Report.same(null, waits.poll(100, TimeUnit.MILLISECONDS));
    var taken = waits.takeAsync();
    queue.addLast("c");
    Report.same("c", taken.get());
    queue.addLast("d");
    Report.same("d", waits.pollLastAndOfferFirstTo("{q}2", 1, TimeUnit.SECONDS));
  }

  private void numbers() {
    RAtomicLong number = redisson.getAtomicLong("n");
    number.set(5);
    Report.same(6L, number.incrementAndGet());
    Report.same(6L, number.getAndAdd(4));
    Report.same(10L, number.get());
    Report.same(10L, number.getAndSet(1));
    var real = redisson.getAtomicDouble("r");
    real.set(1.5);
    Report.same(2.0, real.addAndGet(0.5));
  }

  private void others() {
    var bits = redisson.getBitSet("bits");
    bits.delete();
    bits.set(5);
    Report.same(true, bits.get(5));
    Report.same(1L, bits.cardinality());
    var log = redisson.getHyperLogLog("hll", StringCodec.INSTANCE);
    log.delete();
    log.addAll(List.of("a", "b"));
    Report.same(2L, log.count());
    var geo = redisson.getGeo("geo", StringCodec.INSTANCE);
    geo.delete();
    geo.add(13.361389, 38.115556, "Palermo");
    geo.add(15.087269, 37.502669, "Catania");
    Report.same(166274.1516, geo.dist("Palermo", "Catania", org.redisson.api.geo.GeoUnit.METERS));
    var around =
        org.redisson.api.geo.GeoSearchArgs.from(15, 37)
            .radius(100, org.redisson.api.geo.GeoUnit.KILOMETERS);
    Report.same(List.of("Catania"), geo.search(around));
  }

  private void keys() {
    var keys = redisson.getKeys();
    RBatch batch = redisson.createBatch();
    for (int i = 0; i < 1_000; i++) batch.getBucket("k:" + i, StringCodec.INSTANCE).setAsync("v");
    batch.execute();
    Report.same(
        1_000L,
        keys.getKeysStream(KeysScanOptions.defaults().pattern("k:*").chunkSize(100)).count());
    Report.holds("count", keys.count() >= 1_000);
    Report.same(1L, keys.countExists("k:1", "k:x"));
    Report.same(org.redisson.api.RType.OBJECT, keys.getType("k:1"));
    Report.holds("random", keys.randomKey() != null);
    Report.same(true, keys.expire("k:1", 100, TimeUnit.SECONDS));
    Report.same(1_000L, keys.unlinkByPattern("k:*"));
  }

  private void batch() {
    redisson.getAtomicLong("bn").delete();
    RBatch batch = redisson.createBatch();
    for (int i = 0; i < 3_000; i++) {
      batch.getAtomicLong("bn").incrementAndGetAsync();
      batch.getBucket("b" + i % 100, StringCodec.INSTANCE).setAsync("v" + i);
    }
    BatchResult<?> result = batch.execute();
    Report.same(6_000, result.getResponses().size());
    Report.same(3_000L, result.getResponses().get(5_998));
  }

  private void atomicBatch() {
    redisson.getAtomicLong("{x}1").delete();
    RBatch batch =
        redisson.createBatch(
            org.redisson.api.BatchOptions.defaults()
                .executionMode(org.redisson.api.BatchOptions.ExecutionMode.IN_MEMORY_ATOMIC));
    batch.getAtomicLong("{x}1").incrementAndGetAsync();
    batch.getAtomicLong("{x}1").incrementAndGetAsync();
    Report.same(List.of(1L, 2L), batch.execute().getResponses());
  }

  private void topics() throws Exception {
    BlockingQueue<String> heard = new LinkedBlockingQueue<>();
    RTopic topic = redisson.getTopic("t1", StringCodec.INSTANCE);
    int id = topic.addListener(String.class, (channel, message) -> heard.add(message));
    var pattern = redisson.getPatternTopic("t*", StringCodec.INSTANCE);
    pattern.addListener(String.class, (glob, channel, message) -> heard.add(channel + message));
    topic.publish("hello");
    Report.same(Set.of("hello", "t1hello"), Set.of(heard.take(), heard.take()));
    topic.removeListener(id);
    pattern.removeAllListeners();
  }

  private void shardedTopic() throws Exception {
    for (int i = 0; i < 5; i++) {
      BlockingQueue<String> heard = new LinkedBlockingQueue<>();
      RTopic topic = redisson.getShardedTopic("st" + i, StringCodec.INSTANCE);
      topic.addListener(String.class, (channel, message) -> heard.add(message));
      Report.same(1L, topic.publish("hello"));
      Report.same("hello", heard.take());
      topic.removeAllListeners();
    }
  }

  private void codecs() {
    RMap<String, List<Long>> map = redisson.getMap("objects");
    map.fastPut("a", List.of(1L, 2L));
    Report.same(List.of(1L, 2L), map.get("a"));
    Report.same(null, redisson.<Long>getBucket("nothing", LongCodec.INSTANCE).get());
  }
}
