# redis-rb of the system's Ruby (tried: 4.8.0): at a gateway, and as a client of Redis Cluster; then
# counters while leaders move and nodes die. Not tried, because kvorum has none of it:
# SELECT of a database that nobody has made. Nor pipelines of the cluster client: it takes replicas for
# those of all that one master has, and does not follow MOVED in a pipeline.

begin
  require 'digest'
require 'redis'
rescue LoadError
  puts 'ok nothing was tried: this Ruby has no gem redis'
  exit
end
require_relative 'trouble'

GATEWAY = "redis://#{ENV.fetch('KVORUM_GATEWAYS').split(',').first}".freeze
CLUSTER = ENV.fetch('KVORUM_CLUSTER').split(',').map { |place| "redis://#{place}" }.freeze
KEYS = 16
$failed = false

def gateway(**options) = Redis.new(url: GATEWAY, timeout: 10, **options)
def cluster(**options) = Redis.new(cluster: CLUSTER, timeout: 10, **options)

def check(name)
  yield
  puts "ok redis-rb #{name}"
rescue StandardError => e
  $failed = true
  puts "not ok redis-rb #{name}: #{e.class}: #{e.message}".tr("\n", ' ')
ensure
  $stdout.flush
end

def same(actual, expected)
  raise "#{actual.inspect} instead of #{expected.inspect}" unless actual == expected
end

def commands(c)
  c.del('{rb}h', '{rb}l', '{rb}z')
  same [c.set('{rb}a', '1', ex: 100), c.getex('{rb}a', ex: 5), c.getdel('{rb}a')], %w[OK 1 1]
  same [c.hset('{rb}h', 'a', 1), c.hgetall('{rb}h')], [1, { 'a' => '1' }]
  same [c.zadd('{rb}z', 1.5, 'x'), c.zrange('{rb}z', 0, -1, with_scores: true)], [true, [['x', 1.5]]]
  same [c.rpush('{rb}l', %w[a b]), c.blpop('{rb}l', timeout: 1)], [2, ['{rb}l', 'a']]
  same [c.set('rb:large', 'x' * (4 << 20)), c.get('rb:large').size], ['OK', 4 << 20]
  same c.multi { |line| [line.set('{rb}t', 1), line.incr('{rb}t')] }, ['OK', 2]
  watched = c.watch('{rb}t') do
    gateway.set('{rb}t', 'theirs')
    c.multi { |line| line.set('{rb}t', 'mine') }
  end
  same [watched, c.get('{rb}t')], [nil, 'theirs']
end

# of the cluster client they are not asked: for it a follower-read port, which CLUSTER SLOTS names and
# CLUSTER NODES does not, is one more master, so it sums each key up several times
def keys_of(c)
  100.times { |i| c.set("rb:key:#{i}", i) }
  same c.scan_each(match: 'rb:key:*', count: 7).to_a.size, 100
  same [c.keys('rb:key:*').size, c.dbsize], [100, gateway.dbsize]
end

def channels(c, name)
  heard = Queue.new
  ready = Queue.new
  listener = Thread.new do
    Thread.current.report_on_exception = false # its node will be killed
    c.subscribe(name) do |on|
      on.subscribe { ready << true }
      on.message { |_, text| heard << text }
    end
  end
  ready.pop
  same gateway.publish(name, '1'), 1
  same heard.pop, '1'
ensure
  listener.kill
end

def refused(words)
  yield
rescue Redis::CommandError => e
  raise unless e.message.include?(words)
else
  raise 'it is answered'
end

# what a follower answers may be up to ten seconds old
def replicas
  c = cluster(replica: true)
  c.set('rb:replica', 'new')
  Trouble.wait_until { c.get('rb:replica') == 'new' }
end

def users
  gateway.call('ACL', 'SETUSER', 'matz', 'on', '>ruby', '~rb:*', '+@all')
  [gateway(username: 'matz', password: 'ruby'), cluster(username: 'matz', password: 'ruby')].each do |theirs|
    same theirs.set('rb:user', 1), 'OK'
    refused('NOPERM') { theirs.set('other', 1) }
  end
  gateway.call('ACL', 'DELUSER', 'matz')
end

# what is known to be acknowledged must be there, whoever dies
class Counter
  attr_reader :name

  def initialize(name, client)
    @name = name
    @client = client
  end

  def work(prefix)
    @prefix = "rb:#{prefix}:#{@name}:"
    @acknowledged = @failures = 0
    @stopped = false
    @thread = Thread.new { (0..).each { |turn| @stopped ? break : once(turn) } }
  end

  def stop
    @stopped = true
    @thread.join
  end

  def once(turn)
    @client.incr("#{@prefix}#{turn % KEYS}")
    @acknowledged += 1
  rescue Redis::BaseError
    @failures += 1
    sleep 0.05
  end

  def judge(may_repeat)
    counted = (0...KEYS).sum { |i| gateway.get("#{@prefix}#{i}").to_i }
    allowed = @acknowledged..(@acknowledged + may_repeat + (may_repeat.zero? ? 0 : @failures))
    fine = @acknowledged.positive? && allowed.cover?(counted) && (may_repeat.positive? || @failures.zero?)
    raise "#{@acknowledged} acknowledged, #{counted} counted, #{@failures} failed" unless fine
  end
end

def counters(counters, trouble, may_repeat)
  counters.each { |counter| counter.work(trouble) }
  yield
  counters.each(&:stop)
  counters.each { |counter| check("#{counter.name}: counters while #{trouble}") { counter.judge(may_repeat) } }
end

def scripts(client)
  body = "return redis.call('INCRBY', KEYS[1], ARGV[1]) --#{Time.now.to_f}"
  digest = Digest::SHA1.hexdigest(body)
  client.del('{rb}x')
  refused('NOSCRIPT') { client.evalsha(digest, ['{rb}x'], [2]) }
  same client.eval(body, ['{rb}x'], [2]), 2
  same client.evalsha(digest, ['{rb}x'], [3]), 5
  refused('my own') { client.eval("return {err='ERR my own'}", ['{rb}x']) }
end

def streams(c)
  key = '{rb}stream'
  c.del(key)
  ids = Array.new(4) { |n| c.xadd(key, { n: n }) }
  same c.xrange(key).map(&:first), ids
  same c.xrevrange(key, count: 1), [[ids[3], { 'n' => '3' }]]
  same c.xgroup(:create, key, 'g', '0'), 'OK'
  read = c.xreadgroup('g', 'one', key, '>', count: 3, block: 1000)
  same read[key].map(&:first), ids.first(3)
  same c.xpending(key, 'g')['size'], 3
  same c.xclaim(key, 'g', 'two', 0, ids[0]), [[ids[0], { 'n' => '0' }]]
  same c.xautoclaim(key, 'g', 'three', 0, '0-0', count: 2)['next'], ids[2]
  same c.xack(key, 'g', ids), 3
  same c.xinfo(:stream, key)['length'], 4
  same c.xinfo(:groups, key).size, 1
  same c.xinfo(:consumers, key, 'g').size, 3
  same [c.xdel(key, ids[0]), c.xtrim(key, 1), c.xlen(key)], [1, 2, 1]
  same c.xread(key, '$', block: 50), {}
end

{ 'gateway' => gateway, 'cluster' => cluster }.each do |name, client|
  check("#{name}: commands") { commands(client) }
  check("#{name}: scripts") { scripts(client) }
  check("#{name}: streams") { streams(client) }
  check("#{name}: channels") { channels(client, "rb:#{name}") }
end
check('gateway: keys') { keys_of(gateway) }
check('gateway: pipelines') { same gateway.pipelined { |line| 100.times { |i| line.set("rb:#{i}", i) } }, ['OK'] * 100 }
check('cluster: replicas') { replicas }
check('users') { users }
both = [Counter.new('gateway', gateway), Counter.new('cluster', cluster)]
counters(both, 'leaders move', 0) { Trouble.transfer_leaders(15) }
# one for each node that dies: what was on its way may have been carried out, and sent again
counters(both, 'nodes die', 3) { Trouble::NODES.each { |node| Trouble.kill(node) } }
exit 1 if $failed
