/** prometheus-redis-exporter at both kinds of ports: what it makes of INFO, CONFIG, SLOWLOG, CLIENT LIST, SCAN. */
import { strict as assert } from 'node:assert';
import { attempt, beside, cli, cluster, freePort, gateway } from './place.mjs';

/**
 * With `-is-cluster` it looks for keys at one node, which it finds as that of the cursor: SCAN 0 goes to
 * who leads the slot of the key `0`. It is the same beside a Redis Cluster, so keys there have that tag.
 */
export async function tryExporter() {
  await cli(gateway, 'SET', '{0}:number', '5', 'EX', '1000');
  await cli(gateway, 'RPUSH', '{0}:list', 'a', 'b', 'c');
  await cli(gateway, 'HSET', '{0}:hash', 'a', '1');
  await attempt('exporter at the gateway port', () => scrapes(gateway, [], checksKeys));
  const leader = await leaderOf('{0}:number');
  await attempt('exporter at a cluster port', async () => {
    await scrapes(leader, ['-is-cluster'], (metrics) => {
      checksKeys(metrics);
      assert.equal(metrics.get('redis_cluster_state'), '1');
      assert.equal(metrics.get('redis_cluster_slots_ok'), '16384');
      assert.equal(metrics.get('redis_cluster_known_nodes'), '3');
    });
  });
}

/** Who answers for a key at its cluster port. */
async function leaderOf(key) {
  for (const place of cluster) {
    if (!(await cli(place, 'GET', key)).startsWith('MOVED')) return place;
  }
  throw new Error(`nobody leads ${key}`);
}

async function scrapes(place, options, check) {
  const listen = `127.0.0.1:${await freePort()}`;
  const command = ['prometheus-redis-exporter', '-redis.addr', `redis://${place}`, ...options];
  command.push('-web.listen-address', listen, '-check-keys', '{0}:*', '-count-keys', 'db0={0}:*');
  command.push('-include-system-metrics', '-export-client-list', '-export-client-port');
  const scrape = async () => await (await fetch(`http://${listen}/metrics`)).text();
  await beside(command, scrape, async (said) => {
    const metrics = metricsOf(await scrape());
    assert.equal(metrics.get('redis_up'), '1');
    assert.equal(metrics.get('redis_exporter_last_scrape_error{err=""}'), '0');
    for (const [name, value] of metrics)
      assert.ok(Number.isFinite(Number(value)), `${name} ${value}`);
    check(metrics);
    assert.doesNotMatch(said.text, /level=(error|warning)/);
  });
}

/** Values by name, with labels. */
function metricsOf(text) {
  const lines = text.split('\n').filter((line) => line.startsWith('redis_'));
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
}

function checksKeys(metrics) {
  const key = (metric, name) => metrics.get(`redis_key_${metric}{db="db0",key="{0}:${name}"}`);
  assert.deepEqual(
    [key('value', 'number'), key('size', 'list'), key('size', 'hash')],
    ['5', '3', '1'],
  );
  assert.equal(metrics.get('redis_keys_count{db="db0",key="{0}:*"}'), '3');
  assert.ok([...metrics.keys()].some((name) => name.startsWith('redis_connected_clients_details')));
  for (const name of ['connected_clients', 'memory_used_bytes']) {
    assert.ok(Number(metrics.get(`redis_${name}`)) > 0, name);
  }
  // none of a node that has just started
  assert.ok(Number(metrics.get('redis_uptime_in_seconds')) >= 0, 'uptime');
}
