/**
 * What COMMAND tells clients and proxies beside keys (redis.io, "Command tips"): how to spread a
 * command over nodes, and whether its answer is the same twice.
 */
import type { Command } from '../rows/command.ts';

const lines: readonly { readonly tips: readonly string[]; readonly of: string }[] = [
  {
    tips: ['nondeterministic_output'],
    of:
      'client|info client|list cluster|bumpepoch cluster|count-failure-reports ' +
      'cluster|getkeysinslot cluster|info cluster|links cluster|nodes cluster|replicas ' +
      'cluster|shards cluster|slots dump hpttl hrandfield hscan httl lastsave object|encoding ' +
      'object|freq object|idletime object|refcount pttl spop srandmember sscan time ttl ' +
      'zrandmember zscan xpending xinfo|consumers xtrim xclaim xautoclaim xadd',
  },
  {
    tips: ['nondeterministic_output_order'],
    of:
      'command command|docs command|info command|list function|list hgetall hkeys hvals module|list ' +
      'sdiff sinter smembers sunion',
  },
  {
    tips: ['nondeterministic_output', 'request_policy:all_nodes', 'response_policy:special'],
    of: 'latency|doctor latency|graph latency|histogram latency|history latency|latest',
  },
  {
    tips: ['nondeterministic_output', 'request_policy:all_shards', 'response_policy:special'],
    of: 'info memory|doctor memory|malloc-stats memory|stats',
  },
  {
    tips: ['nondeterministic_output', 'request_policy:special', 'response_policy:special'],
    of: 'scan',
  },
  {
    tips: ['request_policy:all_nodes', 'nondeterministic_output'],
    of: 'slowlog|get',
  },
  {
    tips: ['request_policy:all_nodes', 'response_policy:agg_sum', 'nondeterministic_output'],
    of: 'slowlog|len',
  },
  {
    tips: ['request_policy:all_nodes', 'response_policy:all_succeeded'],
    of: 'config|set latency|reset script|flush script|load slowlog|reset',
  },
  {
    tips: ['nondeterministic_output', 'request_policy:all_shards', 'response_policy:special'],
    of: 'function|stats',
  },
  {
    tips: ['request_policy:all_shards', 'response_policy:special', 'nondeterministic_output'],
    of: 'randomkey',
  },
  {
    tips: ['request_policy:all_shards', 'nondeterministic_output_order'],
    of: 'keys',
  },
  {
    tips: ['request_policy:all_shards', 'response_policy:agg_min'],
    of: 'wait waitaof',
  },
  {
    tips: ['request_policy:all_shards', 'response_policy:agg_sum'],
    of: 'dbsize',
  },
  {
    tips: ['request_policy:all_shards', 'response_policy:all_succeeded'],
    of: 'flushall flushdb memory|purge ping function|load function|delete function|flush function|restore',
  },
  {
    tips: ['request_policy:all_shards', 'response_policy:agg_logical_and'],
    of: 'script|exists',
  },
  {
    tips: ['request_policy:all_shards', 'response_policy:one_succeeded'],
    of: 'script|kill function|kill',
  },
  {
    tips: ['request_policy:multi_shard'],
    of: 'mget json.mget',
  },
  {
    tips: ['request_policy:multi_shard', 'response_policy:agg_min'],
    of: 'msetnx',
  },
  {
    tips: ['request_policy:multi_shard', 'response_policy:agg_sum'],
    of: 'del exists touch unlink',
  },
  {
    tips: ['request_policy:multi_shard', 'response_policy:all_succeeded'],
    of: 'mset msetex',
  },
];

const tipsByName: ReadonlyMap<string, readonly string[]> = new Map(
  lines.flatMap(({ tips, of }) => of.split(' ').map((name) => [name, tips] as const)),
);

export function tipsOf({ name }: Command): readonly string[] {
  return tipsByName.get(name) ?? [];
}
