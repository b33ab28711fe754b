<?php
/*
 * PhpRedis of the system's PHP (tried: 5.3.7): Redis at a gateway, and RedisCluster; then counters while
 * leaders move and nodes die. Not tried, because kvorum has none of it: SELECT of a
 * database that nobody has made.
 */
require 'trouble.php';

$failed = false;

if (!extension_loaded('redis')) {
    echo "ok nothing was tried: this PHP has no extension redis\n";
    exit(0);
}
commands('gateway', gateway());
commands('cluster', cluster());
check('gateway: streams', fn() => streams(gateway()));
check('cluster: streams', fn() => streams(cluster()));
check('gateway: pipelines', fn() => pipelines(gateway()));
check('gateway: scan', fn() => scan(gateway()));
check('cluster: scan', fn() => cluster_scan(cluster()));
check('cluster: reads of replicas', fn() => replicas(cluster()));
check('cluster: users', fn() => users());
counters_in_trouble();
exit($failed ? 1 : 0);

function places(string $name): array
{
    return explode(',', getenv($name));
}

function gateway(): Redis
{
    [$host, $port] = explode(':', places('KVORUM_GATEWAYS')[0]);
    $client = new Redis();
    $client->connect($host, (int) $port, 10);
    return $client;
}

function cluster(?array $user = null): RedisCluster
{
    return new RedisCluster(null, places('KVORUM_CLUSTER'), 10, 10, false, $user);
}

function check(string $name, callable $what): void
{
    global $failed;
    try {
        $what();
        echo "ok PhpRedis $name\n";
    } catch (Throwable $error) {
        $failed = true;
        echo "not ok PhpRedis $name: ", get_class($error), ' ', $error->getMessage(), "\n";
    }
}

function same($actual, $expected): void
{
    if ($actual !== $expected) {
        throw new Exception(json_encode($actual) . ' instead of ' . json_encode($expected));
    }
}

function streams($c): void
{
    $key = '{php}stream';
    $c->del($key);
    $ids = [];
    for ($n = 0; $n < 4; $n++) {
        $ids[] = $c->xAdd($key, '*', ['n' => (string) $n]);
    }
    same(array_keys($c->xRange($key, '-', '+')), $ids);
    same($c->xRevRange($key, '+', '-', 1), [$ids[3] => ['n' => '3']]);
    same($c->xGroup('CREATE', $key, 'g', '0'), true);
    $read = $c->xReadGroup('g', 'one', [$key => '>'], 3, 1000);
    same(array_keys($read[$key]), array_slice($ids, 0, 3));
    same($c->xPending($key, 'g'), [3, $ids[0], $ids[2], [['one', '3']]]);
    same($c->xClaim($key, 'g', 'two', 0, [$ids[0]], []), [$ids[0] => ['n' => '0']]);
    same($c->xAck($key, 'g', $ids), 3);
    same($c->xInfo('STREAM', $key)['length'], 4);
    same([$c->xDel($key, [$ids[0]]), $c->xTrim($key, 1), $c->xLen($key)], [1, 2, 1]);
    same($c->xRead([$key => '$'], 1, 50), []);
}

function commands(string $where, $c): void
{
    check("$where: commands", function () use ($c) {
        $c->del('{php}h', '{php}l', '{php}z', '{php}s');
        same([$c->mset(['php:a' => 1, 'php:b' => 2]), $c->mget(['php:a', 'php:b', 'php:none'])],
            [true, ['1', '2', false]]);
        same([$c->hMSet('{php}h', ['a' => 1]), $c->hGetAll('{php}h')], [true, ['a' => '1']]);
        same([$c->zAdd('{php}z', 1.5, 'x'), $c->zRange('{php}z', 0, -1, true)], [1, ['x' => 1.5]]);
        same([$c->rPush('{php}l', 'a', 'b'), $c->blPop(['{php}l'], 1)], [2, ['{php}l', 'a']]);
        same($c->restore('{php}s', 0, $c->dump('{php}l')), true);
        $large = str_repeat('x', 4 << 20);
        same([$c->set('php:large', $large), $c->get('php:large') === $large], [true, true]);
    });
    check("$where: values that PhpRedis packs", function () use ($c) {
        $c->setOption(Redis::OPT_SERIALIZER, Redis::SERIALIZER_PHP);
        $c->set('php:packed', ['a' => [1, 2.5]]);
        same($c->get('php:packed'), ['a' => [1, 2.5]]);
        $c->setOption(Redis::OPT_SERIALIZER, Redis::SERIALIZER_NONE);
    });
    check("$where: transactions", function () use ($c) {
        same($c->multi()->set('{php}t', 1)->incr('{php}t')->get('{php}t')->exec(), [true, 2, '2']);
        $c->watch('{php}t');
        gateway()->set('{php}t', 'theirs');
        // RedisCluster answers an array with false in it, of Redis as well
        same(array_filter((array) $c->multi()->set('{php}t', 'mine')->exec()), []);
        same($c->get('{php}t'), 'theirs');
    });
    check("$where: scripts", function () use ($c) {
        $body = "return redis.call('INCRBY', KEYS[1], ARGV[1]) --" . hrtime(true);
        $c->del('{php}x');
        $c->clearLastError();
        same([$c->evalSha(sha1($body), ['{php}x', 2], 1), strpos($c->getLastError(), 'NOSCRIPT')], [false, 0]);
        same([$c->eval($body, ['{php}x', 2], 1), $c->evalSha(sha1($body), ['{php}x', 3], 1)], [2, 5]);
    });
}

function pipelines(Redis $c): void
{
    $line = $c->multi(Redis::PIPELINE);
    for ($i = 0; $i < 100; $i++) {
        $line->set("php:$i", $i);
    }
    same($line->exec(), array_fill(0, 100, true));
}

function scan(Redis $c): void
{
    $found = [];
    $cursor = null;
    while (($keys = $c->scan($cursor, 'php:[0-9]*', 7)) !== false) {
        array_push($found, ...$keys);
    }
    same(count(array_unique($found)), 100);
}

function cluster_scan(RedisCluster $c): void
{
    $c->setOption(Redis::OPT_SCAN, Redis::SCAN_RETRY);
    $found = [];
    foreach ($c->_masters() as $master) {
        $cursor = null;
        while (($keys = $c->scan($cursor, $master, 'php:[0-9]*', 7)) !== false) {
            array_push($found, ...$keys);
        }
    }
    same([count($found), count(array_unique($found))], [100, 100]);
}

/** What a follower answers may be up to ten seconds old. */
function replicas(RedisCluster $c): void
{
    $modes = [RedisCluster::FAILOVER_ERROR, RedisCluster::FAILOVER_DISTRIBUTE, RedisCluster::FAILOVER_DISTRIBUTE_SLAVES];
    foreach ($modes as $mode) {
        $c->setOption(RedisCluster::OPT_SLAVE_FAILOVER, $mode);
        $c->set('php:replica', "$mode");
        $end = microtime(true) + 20;
        while ($c->get('php:replica') !== "$mode") {
            if (microtime(true) > $end) {
                throw new Exception("an old value for 20 s, mode $mode");
            }
            usleep(100_000);
        }
    }
}

function users(): void
{
    gateway()->rawCommand('ACL', 'SETUSER', 'rasmus', 'on', '>elephant', '~php:*', '+@all');
    $theirs = cluster(['rasmus', 'elephant']);
    same([$theirs->set('php:user', 1), $theirs->set('other', 1)], [true, false]);
    same(strpos($theirs->getLastError(), 'NOPERM'), 0);
    gateway()->rawCommand('ACL', 'DELUSER', 'rasmus');
}

/** One increment at a time; what is known to be acknowledged must be there, whoever dies. */
function counters_in_trouble(): void
{
    $clients = ['gateway' => gateway(), 'cluster' => cluster()];
    foreach (['leaders' => 'while leaders move', 'nodes' => 'while nodes die'] as $trouble => $when) {
        $seen = array_fill_keys(array_keys($clients), [0, 0]);
        foreach (during($trouble) as $turn) {
            foreach ($clients as $name => $client) {
                $seen[$name][increment($client, "php:$trouble:$name:" . $turn % 16) ? 0 : 1]++;
            }
        }
        foreach ($seen as $name => [$acknowledged, $failures]) {
            check("$name: counters $when", fn() => judge("php:$trouble:$name:", $acknowledged, $failures, $trouble));
        }
    }
}

/** A client that has lost its node fails until that is back. */
function increment($client, string $key): bool
{
    try {
        return is_int($client->incr($key));
    } catch (RedisException | RedisClusterException $lost) {
        return false;
    }
}

function judge(string $prefix, int $acknowledged, int $failures, string $trouble): void
{
    $counted = 0;
    for ($i = 0; $i < 16; $i++) {
        $counted += (int) gateway()->get("$prefix$i");
    }
    if ($trouble === 'leaders') {
        same([$counted, $failures], [$acknowledged, 0]);
    }
    // what was on its way to each of the three may have been carried out, and sent again
    if ($acknowledged === 0 || $counted < $acknowledged || $counted > $acknowledged + $failures + 3) {
        throw new Exception("$acknowledged acknowledged, $counted counted, $failures failed");
    }
}
