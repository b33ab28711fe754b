import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { compileScript } from '../../../../src/datanode/commands/scripts/compiled.ts';
import { encodeReply } from '../../../../src/datanode/resp/encode-reply.ts';
import { FakeNode, serverInfo } from '../fake-node.ts';
import { ask } from '../node-text.ts';
import { hasRedis, RealRedis } from '../real-redis.ts';

let node: FakeNode;
beforeEach(() => {
  node = new FakeNode();
});

/** Section titles of an INFO reply. */
const titles = (text: string) => [...text.matchAll(/# (\w+)\r\n/g)].map(([, title]) => title);

/** Section → field → value. */
function parse(text: string): Map<string, Map<string, string>> {
  const sections = new Map<string, Map<string, string>>();
  let fields = new Map<string, string>();
  for (const line of text.split('\r\n')) {
    if (line.startsWith('# ')) {
      fields = new Map();
      sections.set(line.slice(2), fields);
    } else if (line.includes(':')) {
      const at = line.indexOf(':');
      expect(fields.has(line.slice(0, at)), `${line} comes once`).toBe(false);
      fields.set(line.slice(0, at), line.slice(at + 1));
    }
  }
  return sections;
}

async function info(...sections: string[]) {
  return parse(await ask(node, ['INFO', ...sections].join(' ')));
}

test('INFO counts the scripts that the process has compiled, and their bytes', async () => {
  const figures = async () => {
    const memory = (await info('memory')).get('Memory')!;
    const fields = ['number_of_cached_scripts', 'used_memory_scripts_eval'];
    return fields.map((name) => Number(memory.get(name)));
  };
  const [count, bytes] = await figures();
  const body = `return 1 --${'x'.repeat(5_000)}`;
  expect(compileScript(Buffer.from(body)).ok).toBe(true);
  expect(compileScript(Buffer.from(body)).ok).toBe(true);
  expect(await figures()).toEqual([count! + 1, bytes! + body.length]);
});

test('INFO counts functions and their libraries where it is known how many there are', async () => {
  const known = new FakeNode();
  const figures = async () => {
    const text = await ask(known, 'INFO memory');
    return [...text.matchAll(/^number_of_(functions|libraries):(\d+)\r?$/gm)].map(
      ([, ...of]) => of,
    );
  };
  expect(await figures()).toEqual([]);
  known.libraryCounts = { functions: 5, libraries: 2 };
  expect(await figures()).toEqual([
    ['functions', '5'],
    ['libraries', '2'],
  ]);
});

test('INFO has the values that tools read', async () => {
  const text = await ask(node, 'INFO');
  for (const line of [
    'redis_version:7.4.0',
    'redis_mode:standalone',
    'os:Linux 6.1 x86_64',
    'process_id:42',
    'tcp_port:6379',
    'uptime_in_seconds:90',
    'availability_zone:dc1',
    'connected_clients:3',
    'client_recent_max_input_buffer:300',
    'client_recent_max_output_buffer:20000',
    'used_memory:3145728',
    'used_memory_human:3.00M',
    'used_memory_peak:4194304',
    'total_system_memory_human:8.00G',
    'mem_fragmentation_ratio:2.00',
    'loading:0',
    'total_commands_processed:100',
    'instantaneous_ops_per_sec:12',
    'instantaneous_input_kbps:1.50',
    'total_error_replies:5',
    'expired_keys:6',
    'expired_subkeys:83',
    'evicted_clients:71',
    'total_reads_processed:73',
    'total_writes_processed:79',
    'acl_access_denied_auth:53',
    'acl_access_denied_cmd:59',
    'acl_access_denied_key:61',
    'acl_access_denied_channel:67',
    'watching_clients:43',
    'clients_in_timeout_table:31',
    'total_watched_keys:47',
    'total_blocking_keys:37',
    'total_blocking_keys_on_nokey:41',
    'keyspace_hits:8',
    'keyspace_misses:3',
    'role:master',
    'master_repl_offset:11',
    'errorstat_MOVED:count=1',
    'cluster_enabled:0',
    'db0:keys=7,expires=2,avg_ttl=0',
  ]) {
    expect(text).toContain(`\r\n${line}\r\n`);
  }
});

test('what redis-cli --stat searches the text for is found first where it belongs', async () => {
  const text = await ask(node, 'INFO');
  const first = (field: string) => /^\S*/.exec(text.slice(text.indexOf(field)))![0];
  expect(first('used_memory')).toBe('used_memory:3145728');
  expect(first('connected_clients')).toBe('connected_clients:3');
  expect(first('blocked_clients')).toBe('blocked_clients:0');
  expect(first('total_commands_processed')).toBe('total_commands_processed:100');
  expect(first('total_connections_received')).toBe('total_connections_received:9');
  expect(first('bgsave_in_progress')).toBe('bgsave_in_progress:0');
  expect(first('aof_rewrite_in_progress')).toBe('aof_rewrite_in_progress:0');
  expect(first('loading')).toBe('loading:0');
  expect(first('db0:keys')).toBe('db0:keys=7,expires=2,avg_ttl=0');
});

test('a node that is not open yet says when clients may try again', async () => {
  node.info = { ...serverInfo, loading: true };
  const persistence = (await info('persistence')).get('Persistence')!;
  expect(persistence.get('loading')).toBe('1');
  expect(persistence.get('loading_eta_seconds')).toBe('1');
});

test('INFO shows the sections asked for, each once, whatever the case', async () => {
  const asked = async (line: string) => titles(await ask(node, line));
  expect(await asked('INFO clients keyspace CLIENTS')).toEqual(['Clients', 'Keyspace']);
  expect(await asked('INFO keyspace clients')).toEqual(['Clients', 'Keyspace']);
  expect(await asked('INFO commandstats')).toEqual(['Commandstats']);
  expect(await asked('INFO default latencystats')).toEqual([
    ...(await asked('INFO')).slice(0, 9),
    'Latencystats',
    'Cluster',
    'Keyspace',
  ]);
  expect(await asked('INFO everything')).toEqual(await asked('INFO all'));
  expect((await asked('INFO all')).slice(-3)).toEqual(['Kvorum', 'Raft', 'Storage']);
  expect(await ask(node, 'INFO nothing')).toBe('$0\r\n\r\n');
});

test('our own sections tell of partitions, forwarding and the log', async () => {
  const own = await info('kvorum', 'raft', 'storage');
  expect(own.get('Kvorum')!.get('groups_led')).toBe('1');
  expect(own.get('Kvorum')!.get('total_forwarded_commands')).toBe('11');
  expect(own.get('Kvorum')!.get('total_repeated_batches')).toBe('17');
  expect(own.get('Kvorum')!.get('total_lost_entries')).toBe('19');
  expect(own.get('Raft')!.get('partition_default_0')).toBe(
    'group=1,role=leader,leader=n1,term=4,commit=12,applied=11,lag=1,reads=lease',
  );
  expect(own.get('Storage')!.get('log_syncs')).toBe('30');
});

test('what INFO tells one by one is bounded', async () => {
  const [one] = serverInfo.partitions;
  const partitions = Array.from({ length: 5_000 }, (_, partition) => ({ ...one!, partition }));
  node.info = { ...serverInfo, partitions };
  const raft = (await info('raft')).get('Raft')!;
  expect([...raft.keys()].filter((name) => name.startsWith('partition_'))).toHaveLength(1_024);
  expect(raft.get('partitions_not_shown')).toBe('3976');
});

test('the cluster port says so', async () => {
  const text = await ask(new FakeNode('cluster'), 'INFO');
  expect(text).toContain('cluster_enabled:1\r\n');
  expect(text).toContain('redis_mode:cluster\r\n');
});

/** Fields that are ours alone, or of a later Redis than the one that is compared with. */
const beyond = [
  ...['server_name', 'kvorum_version', 'availability_zone', 'pubsub_clients', 'expired_subkeys'],
  ...['watching_clients', 'total_watched_keys', 'total_blocking_keys'],
  ...['total_blocking_keys_on_nokey', 'acl_access_denied_auth', 'acl_access_denied_cmd'],
  ...['acl_access_denied_key', 'acl_access_denied_channel'],
];

/** What redis_exporter, redis-cli, RedisInsight, BullMQ and clients look for: all of it. */
const wanted: Readonly<Record<string, string>> = {
  Server:
    'redis_version server_name kvorum_version redis_mode os arch_bits process_id run_id tcp_port ' +
    'server_time_usec uptime_in_seconds uptime_in_days hz config_file availability_zone',
  Clients:
    'connected_clients maxclients blocked_clients tracking_clients pubsub_clients ' +
    'client_recent_max_input_buffer client_recent_max_output_buffer watching_clients ' +
    'clients_in_timeout_table total_watched_keys total_blocking_keys total_blocking_keys_on_nokey',
  Memory:
    'used_memory used_memory_human used_memory_rss used_memory_peak maxmemory maxmemory_policy ' +
    'mem_fragmentation_ratio number_of_cached_scripts used_memory_scripts_eval total_system_memory',
  Persistence:
    'loading async_loading rdb_bgsave_in_progress rdb_last_save_time rdb_last_bgsave_status ' +
    'aof_enabled aof_rewrite_in_progress',
  Stats:
    'total_connections_received total_commands_processed instantaneous_ops_per_sec ' +
    'instantaneous_input_kbps instantaneous_output_kbps total_net_input_bytes ' +
    'total_net_output_bytes rejected_connections expired_keys evicted_keys keyspace_hits ' +
    'keyspace_misses pubsub_channels pubsub_patterns total_error_replies latest_fork_usec',
  Replication: 'role connected_slaves master_repl_offset master_replid',
  CPU: 'used_cpu_sys used_cpu_user',
  Cluster: 'cluster_enabled',
};

/** The form of a value: digits and hex digits do not matter. */
const form = (value: string) =>
  value
    .replace(/[0-9a-f]{40}/g, 'HEX')
    .replace(/\d+\.\d+/g, 'F')
    .replace(/-?\d+/g, 'N')
    .replace(/[NF][KMG]$/, 'SIZE')
    .replace(/[NF]B$/, 'SIZE');

describe.skipIf(!hasRedis)('beside a redis-server', () => {
  let redis: RealRedis;
  beforeAll(async () => {
    redis = await RealRedis.start();
    for (const line of ['SET a 1', 'SET b 1 EX 100', 'GET a', 'GET c', 'CONFIG GET save']) {
      await redis.call(...line.split(' '));
    }
    for (const line of ['LPUSH a 1', 'INCR', 'INCR b c', 'NOTHING']) {
      expect(await redis.call(...line.split(' '))).toMatchObject({ kind: 'error' });
    }
  });
  afterAll(() => redis.stop());

  async function theirs(...sections: string[]) {
    const reply = await redis.call('INFO', ...sections);
    if (reply.kind !== 'bulk') throw new Error('INFO replies with text');
    return reply.bytes.toString();
  }

  test.each(['', 'default', 'all', 'everything', 'stats', 'nothing', 'cpu memory', 'all server'])(
    'INFO %s has its sections in its order, ours behind them',
    async (line) => {
      const args = line === '' ? [] : line.split(' ');
      const ours = titles(await ask(node, ['INFO', ...args].join(' ')));
      const own = ours.filter((title) => ['Kvorum', 'Raft', 'Storage'].includes(title!));
      expect(ours).toEqual([...titles(await theirs(...args)), ...own]);
    },
  );

  test('every field is one of its fields, in the same section and form', async () => {
    const reference = parse(await theirs('all'));
    for (const [title, fields] of await info('all')) {
      const known = reference.get(title);
      if (known === undefined) continue;
      for (const [name, value] of fields) {
        if (beyond.includes(name) || /^(cmdstat|errorstat|latency_percentiles)/.test(name))
          continue;
        expect([...known.keys()], `${title} ${name}`).toContain(name);
        if (['os', 'config_file', 'mem_fragmentation_ratio'].includes(name)) continue;
        expect(form(value), `${title} ${name}`).toBe(form(known.get(name)!));
      }
    }
  });

  test('nothing that tools look for is missing', async () => {
    const reference = parse(await theirs('all'));
    const ours = await info('all');
    for (const [title, names] of Object.entries(wanted)) {
      for (const name of names.split(' ')) {
        expect(reference.get(title)!.has(name), `its ${name}`).toBe(!beyond.includes(name));
        expect(ours.get(title)!.has(name), `our ${name}`).toBe(true);
      }
    }
  });

  test.each([
    ['Commandstats', 'cmdstat_get'],
    ['Commandstats', 'cmdstat_config|get'],
    ['Commandstats', 'cmdstat_incr'],
    ['Errorstats', 'errorstat_ERR'],
    ['Latencystats', 'latency_percentiles_usec_get'],
    ['Latencystats', 'latency_percentiles_usec_config|get'],
    ['Keyspace', 'db0'],
  ])('%s: %s has its form', async (title, name) => {
    const reference = parse(await theirs('all'))
      .get(title)!
      .get(name)!;
    const ours = (await info('all')).get(title)!.get(name)!;
    expect(form(ours)).toBe(form(reference));
  });

  test('LATENCY HISTOGRAM has its shape', async () => {
    const shape = (text: string) =>
      text.replace(/\d+/g, 'N').replace(/(:N\r\n:N\r\n)+/g, 'COUNTS ');
    const reply = await redis.call('LATENCY', 'HISTOGRAM', 'config');
    const ours = await node.call('LATENCY', 'HISTOGRAM', 'config');
    expect(shape(encodeReply(ours, 2).toString())).toBe(shape(encodeReply(reply, 2).toString()));
  });
});
