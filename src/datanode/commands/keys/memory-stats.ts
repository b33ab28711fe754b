/** MEMORY STATS: the fields of Redis that mean something here; data lives in the engines, not here. */
import { bulk, integer, type Reply } from '../../resp/reply.ts';
import type { NodeContext } from '../rows/node-context.ts';

const double = (value: number): Reply => ({ kind: 'double', value });

export async function memoryStats(context: NodeContext): Promise<Reply> {
  const { usage, peakHeapBytes } = context.info();
  const counts = (await context.keyCounts()).get(context.session.namespace);
  const keys = counts?.keys ?? 0;
  const clients = context.sessions().reduce((sum, session) => {
    const { requestBytes, replyBytes } = session.queued();
    return sum + requestBytes + replyBytes;
  }, 0);
  const heap = Math.max(1, usage.heapBytes);
  const fields: Readonly<Record<string, Reply>> = {
    'peak.allocated': integer(peakHeapBytes),
    'total.allocated': integer(usage.heapBytes),
    'startup.allocated': integer(0),
    'replication.backlog': integer(0),
    'clients.slaves': integer(0),
    'clients.normal': integer(clients),
    'cluster.links': integer(0),
    'aof.buffer': integer(context.info().log.queuedBytes),
    'lua.caches': integer(0),
    'functions.caches': integer(0),
    'overhead.total': integer(usage.heapBytes),
    'keys.count': integer(keys),
    'keys.bytes-per-key': integer(0),
    'dataset.bytes': integer(0),
    'dataset.percentage': double(0),
    'peak.percentage': double((usage.heapBytes / Math.max(1, peakHeapBytes)) * 100),
    'allocator.allocated': integer(usage.heapBytes),
    'allocator.active': integer(usage.heapBytes),
    'allocator.resident': integer(usage.rssBytes),
    'rss-overhead.ratio': double(usage.rssBytes / heap),
    'rss-overhead.bytes': integer(usage.rssBytes - usage.heapBytes),
    fragmentation: double(usage.rssBytes / heap),
    'fragmentation.bytes': integer(usage.rssBytes - usage.heapBytes),
  };
  return {
    kind: 'map',
    pairs: Object.entries(fields).map(([name, value]) => [bulk(name), value] as const),
  };
}
