/** `kvorum nodes` and `kvorum drain`. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Api, type ApiFlags } from './api.ts';
import {
  barLine,
  bytesText,
  durationText,
  ProgressLine,
  say,
  sayJson,
  tableLines,
} from './print.ts';
import type { ClusterAnswer, NodeAnswer } from './shapes.ts';

export async function listNodes(flags: ApiFlags): Promise<void> {
  const api = new Api(flags);
  const answer = await api.get<{ nodes: NodeAnswer[] }>('/v1/nodes');
  if (flags.json) return sayJson(answer);
  const rows = answer.nodes.map((one) => [
    one.name,
    stateOf(one, Date.now()),
    one.tags?.['dc_info'],
    one.address && `${one.address.host}:${one.address.gatewayPort}`,
    one.replicas,
    one.leaders,
    one.load?.keys,
    bytesText(one.load?.diskBytes),
    bytesText(one.load?.memoryBytes),
  ]);
  const head = ['node', 'state', 'dc', 'gateway', 'replicas', 'leaders', 'keys', 'disk', 'memory'];
  for (const line of tableLines(head, rows)) say(line);
  const { master, nodes, stability } = await api.get<ClusterAnswer>('/v1/cluster');
  say(`master ${master ?? 'none'}, ${nodes.alive} alive, stable node count ${nodes.stable}`);
  if (stability.frozen) say(`nothing moves: ${stability.frozen}`);
}

function stateOf({ alive, lostSinceMs, draining }: NodeAnswer, nowMs: number): string {
  if (!alive) return lostSinceMs === null ? 'away' : `away ${durationText(nowMs - lostSinceMs)}`;
  if (draining === null) return 'alive';
  return draining.left === 0 ? 'drained' : `draining ${Math.floor(draining.progress * 100)} %`;
}

export interface DrainFlags extends ApiFlags {
  readonly cancel?: boolean;
  readonly wait: boolean;
}

const LOOK_MS = 500;

/** Waits, with its progress, until the node is empty; interrupting it leaves the drain going. */
export async function drain(node: string, flags: DrainFlags): Promise<void> {
  const api = new Api(flags);
  const path = `/v1/nodes/${encodeURIComponent(node)}`;
  if (flags.cancel) {
    await api.write('DELETE', `${path}/drain`);
    return say(`${node} is emptied no more; what has moved stays where it is`);
  }
  await api.write('POST', `${path}/drain`);
  if (!flags.wait) return say(`${node} is being emptied; kvorum nodes shows how far`);
  const line = new ProgressLine();
  for (;;) {
    const { draining } = await api.get<NodeAnswer>(path);
    const { stability } = await api.get<ClusterAnswer>('/v1/cluster');
    if (draining === null) {
      line.end();
      return say(`${node} is not drained any more: somebody took that back`);
    }
    line.show(barLine(draining.progress, noteOf(draining, stability.frozen)));
    if (draining.left === 0) break;
    await sleep(LOOK_MS);
  }
  line.end();
  say(`${node} holds nothing any more: it may be stopped for good`);
}

function noteOf(draining: NonNullable<NodeAnswer['draining']>, frozen: string | null): string {
  if (draining.left === 0) return 'empty';
  const left = `${draining.left} of ${draining.replicas} replicas left`;
  if (frozen !== null) return `${left}; stands still: ${frozen}`;
  return draining.etaMs === null ? left : `${left}, about ${durationText(draining.etaMs)}`;
}
