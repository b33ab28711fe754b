import java.util.List;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.redisson.api.RAtomicLong;
import org.redisson.api.RBucket;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RDelayedQueue;
import org.redisson.api.RLock;
import org.redisson.api.RMap;
import org.redisson.api.RMapCache;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RQueue;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RScoredSortedSet;
import org.redisson.api.RScript;
import org.redisson.api.RSemaphore;
import org.redisson.api.RSetCache;
import org.redisson.api.RateType;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.LongCodec;
import org.redisson.client.codec.StringCodec;

/** Locks and all that is built with them, and what compares before it writes: Redisson's scripts. */
final class RedissonScripts {
  private static final int THREADS = 6;
  private static final int ROUNDS = 10;

  private final RedissonClient redisson;

  RedissonScripts(RedissonClient redisson) {
    this.redisson = redisson;
  }

  void all() {
    Report.tries("RLock", () -> excludes(redisson.getLock("lock")));
    Report.tries("RLock of one thread", this::lock);
    Report.tries("RFairLock", () -> excludes(redisson.getFairLock("fair")));
    Report.tries("RSpinLock", () -> excludes(redisson.getSpinLock("spin")));
    Report.tries("RFencedLock", () -> excludes(redisson.getFencedLock("fenced")));
    Report.tries("RReadWriteLock", this::readWriteLock);
    Report.tries("RMultiLock", this::multiLock);
    Report.tries("RSemaphore", this::semaphore);
    Report.tries("RPermitExpirableSemaphore", this::expirableSemaphore);
    Report.tries("RCountDownLatch", this::latch);
    Report.tries("RRateLimiter", this::rateLimiter);
    Report.tries("RMap, what was there before", this::map);
    Report.tries("RMapCache", this::mapCache);
    Report.tries("RSetCache", this::setCache);
    Report.tries("compare and set, get and delete", this::compares);
    Report.tries("RScoredSortedSet, taking", this::scored);
    Report.tries("RDelayedQueue", this::delayed);
    Report.tries("RScript", this::script);
  }

  /** Threads add to what they read: what they do without the lock's help is lost. */
  private void excludes(RLock lock) throws Exception {
    RBucket<String> bucket = redisson.getBucket("of " + lock.getName(), StringCodec.INSTANCE);
    lock.forceUnlock();
    bucket.set("0");
    together(
        THREADS,
        () -> {
          for (int i = 0; i < ROUNDS; i++) {
            lock.lock();
            try {
              bucket.set(String.valueOf(Integer.parseInt(bucket.get()) + 1));
            } finally {
              lock.unlock();
            }
          }
        });
    Report.same(String.valueOf(THREADS * ROUNDS), bucket.get());
    Report.same(false, lock.isLocked());
  }

  private static void together(int count, Report.Body body) throws Exception {
    List<Future<?>> all = new java.util.ArrayList<>();
    for (int i = 0; i < count; i++) all.add(Report.inBackground(body));
    for (Future<?> each : all) each.get(120, TimeUnit.SECONDS);
  }

  private void lock() throws Exception {
    RLock lock = redisson.getLock("one");
    lock.forceUnlock();
    Report.same(true, lock.tryLock(0, 60, TimeUnit.SECONDS));
    Report.same(true, lock.tryLock(0, 60, TimeUnit.SECONDS));
    Report.same(2, lock.getHoldCount());
    Report.inBackground(() -> Report.same(false, lock.tryLock())).get(30, TimeUnit.SECONDS);
    Report.inBackground(() -> Report.refuses("attempt to unlock", lock::unlock))
        .get(30, TimeUnit.SECONDS);
    lock.unlock();
    Report.same(true, lock.isHeldByCurrentThread());
    lock.unlock();
    Report.same(true, lock.tryLock(0, 500, TimeUnit.MILLISECONDS));
    // Who waits is not told of what runs out, and looks again by itself.
    Report.inBackground(
            () -> {
              Report.same(true, lock.tryLock(20, 60, TimeUnit.SECONDS));
              lock.unlock();
            })
        .get(40, TimeUnit.SECONDS);
  }

  private void readWriteLock() throws Exception {
    RReadWriteLock both = redisson.getReadWriteLock("rw");
    both.writeLock().forceUnlock();
    both.readLock().lock();
    Report.inBackground(
            () -> {
              Report.same(true, both.readLock().tryLock());
              Report.same(false, both.writeLock().tryLock());
              both.readLock().unlock();
            })
        .get(30, TimeUnit.SECONDS);
    both.readLock().unlock();
    excludes(both.writeLock());
  }

  /** Its locks lie in several partitions, and are taken one by one. */
  private void multiLock() throws Exception {
    RLock[] locks =
        IntStream.range(0, 3).mapToObj(i -> redisson.getLock("m" + i)).toArray(RLock[]::new);
    for (RLock lock : locks) lock.forceUnlock();
    RLock all = redisson.getMultiLock(locks);
    Report.same(true, all.tryLock(10, 60, TimeUnit.SECONDS));
    Report.same(true, locks[2].isLocked());
    all.unlock();
    Report.same(false, locks[0].isLocked());
  }

  private void semaphore() throws Exception {
    RSemaphore semaphore = redisson.getSemaphore("semaphore");
    semaphore.delete();
    Report.same(true, semaphore.trySetPermits(2));
    Report.same(false, semaphore.trySetPermits(3));
    AtomicInteger inside = new AtomicInteger();
    together(
        THREADS,
        () -> {
          semaphore.acquire();
          Report.holds("two at most", inside.incrementAndGet() <= 2);
          Thread.sleep(10);
          inside.decrementAndGet();
          semaphore.release();
        });
    Report.same(2, semaphore.availablePermits());
    Report.same(2, semaphore.drainPermits());
  }

  private void expirableSemaphore() throws Exception {
    RPermitExpirableSemaphore semaphore = redisson.getPermitExpirableSemaphore("expirable");
    semaphore.delete();
    semaphore.trySetPermits(1);
    String first = semaphore.acquire(500, TimeUnit.MILLISECONDS);
    Report.same(null, semaphore.tryAcquire());
    String second = semaphore.tryAcquire(20, 60, TimeUnit.SECONDS);
    Report.holds("another permit", second != null && !second.equals(first));
    Report.same(false, semaphore.tryRelease(first));
    Report.same(true, semaphore.tryRelease(second));
  }

  private void latch() throws Exception {
    RCountDownLatch latch = redisson.getCountDownLatch("latch");
    latch.delete();
    Report.same(true, latch.trySetCount(3));
    Future<?> waits =
        Report.inBackground(() -> Report.same(true, latch.await(60, TimeUnit.SECONDS)));
    for (int i = 0; i < 3; i++) latch.countDown();
    waits.get(60, TimeUnit.SECONDS);
    Report.same(0L, latch.getCount());
  }

  private void rateLimiter() {
    RRateLimiter limiter = redisson.getRateLimiter("rate");
    limiter.delete();
    Report.same(true, limiter.trySetRate(RateType.OVERALL, 5, java.time.Duration.ofHours(1)));
    Report.same(5L, IntStream.range(0, 8).filter(i -> limiter.tryAcquire()).count());
    Report.same(0L, limiter.availablePermits());
  }

  private void map() {
    RMap<String, String> map = redisson.getMap("before", StringCodec.INSTANCE);
    map.delete();
    Report.same(null, map.put("a", "1"));
    Report.same("1", map.put("a", "2"));
    Report.same("2", map.putIfAbsent("a", "3"));
    Report.same("2", map.replace("a", "4"));
    Report.same(false, map.replace("a", "1", "5"));
    Report.same(true, map.remove("a", "4"));
    Report.same(null, map.remove("a"));
    Report.same("x1", map.computeIfAbsent("x", key -> key + "1"));
    Report.same("x1y", map.merge("x", "y", String::concat));
    RMap<String, Long> numbers = redisson.getMap("numbers", LongCodec.INSTANCE);
    numbers.delete();
    numbers.addAndGet("n", 5L);
    Report.same(7L, numbers.addAndGet("n", 2L));
  }

  private void mapCache() throws Exception {
    RMapCache<String, String> cache = redisson.getMapCache("cache", StringCodec.INSTANCE);
    cache.delete();
    Report.same(null, cache.put("a", "1", 1, TimeUnit.SECONDS));
    Report.same("1", cache.put("a", "2", 1, TimeUnit.SECONDS));
    Report.same(true, cache.fastPut("b", "3", 100, TimeUnit.SECONDS));
    Report.same("2", cache.get("a"));
    Report.eventually("it has run out", () -> cache.get("a") == null);
    Report.same(Set.of("b"), cache.readAllKeySet());
    cache.delete();
    cache.setMaxSize(2);
    for (int i = 0; i < 5; i++) cache.put("k" + i, "v");
    Report.same(2, cache.size());
  }

  private void setCache() throws Exception {
    RSetCache<String> cache = redisson.getSetCache("set cache", StringCodec.INSTANCE);
    cache.delete();
    Report.same(true, cache.add("a", 1, TimeUnit.SECONDS));
    Report.same(false, cache.add("a", 1, TimeUnit.SECONDS));
    cache.add("b");
    Report.eventually("it has run out", () -> !cache.contains("a"));
    Report.same(Set.of("b"), cache.readAll());
  }

  private void compares() {
    RBucket<String> bucket = redisson.getBucket("compared", StringCodec.INSTANCE);
    bucket.set("1");
    Report.same(false, bucket.compareAndSet("2", "3"));
    Report.same(true, bucket.compareAndSet("1", "2"));
    Report.same("2", bucket.getAndDelete());
    RAtomicLong number = redisson.getAtomicLong("compared number");
    number.delete();
    Report.same(true, number.compareAndSet(0, 7));
    Report.same(false, number.compareAndSet(0, 8));
    Report.same(7L, number.getAndSet(9));
    Report.same(9L, number.getAndDelete());
  }

  private void scored() {
    RScoredSortedSet<String> set = redisson.getScoredSortedSet("taken", StringCodec.INSTANCE);
    set.delete();
    for (int i = 0; i < 5; i++) set.add(i, "m" + i);
    Report.same("m0", set.pollFirst());
    Report.same("m4", set.pollLast());
    Report.same(List.of("m1", "m2"), List.copyOf(set.pollFirst(2)));
    Report.same(1, set.size());
  }

  /** Messages of several keys, which Redisson gives one hash tag. */
  private void delayed() throws Exception {
    RQueue<String> queue = redisson.getBlockingQueue("delayed", StringCodec.INSTANCE);
    queue.delete();
    RDelayedQueue<String> delayed = redisson.getDelayedQueue(queue);
    delayed.offer("later", 1_500, TimeUnit.MILLISECONDS);
    delayed.offer("soon", 300, TimeUnit.MILLISECONDS);
    Report.same(null, queue.peek());
    Report.eventually("both are there", () -> queue.size() == 2);
    Report.same(List.of("soon", "later"), queue.readAll());
    delayed.destroy();
  }

  private void script() {
    RScript script = redisson.getScript(StringCodec.INSTANCE);
    String body = "return redis.call('set', KEYS[1], ARGV[1]).ok --" + System.nanoTime();
    String digest = Report.sha1(body);
    List<Object> key = List.of("scripted");
    Report.same(
        "OK", script.eval(RScript.Mode.READ_WRITE, body, RScript.ReturnType.VALUE, key, "1"));
    Report.same(
        "OK", script.evalSha("scripted", RScript.Mode.READ_WRITE, digest, RScript.ReturnType.VALUE, key, "2"));
    Report.same("2", redisson.getBucket("scripted", StringCodec.INSTANCE).get());
  }
}
