/** `kvorum nodes` and `kvorum drain`. */
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from '../../common/errors.ts';
import { hostPort } from '../../common/host-port.ts';
import { Api, type ApiFlags, HEARD_MS } from './api.ts';
import {
  barLine,
  bytesText,
  durationText,
  ProgressLine,
  say,
  sayJson,
  tableLines,
  tell,
} from './print.ts';
import type { ClusterAnswer, NodeAnswer } from './shapes.ts';

export async function listNodes(flags: ApiFlags): Promise<void> {
  const api = new Api(flags);
  const answer = await api.get<{ nodes: NodeAnswer[] }>('/v1/nodes');
  if (flags.json) return sayJson(answer);
  const rows = answer.nodes.map((one) => [
    one.name,
    nodeState(one, Date.now()),
    one.tags?.['dc_info'],
    one.address && hostPort({ host: one.address.host, port: one.address.gatewayPort }),
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

/** With the replicas that stopped there after a fault. */
export function nodeState(one: NodeAnswer, nowMs: number): string {
  const { stopped = 0 } = one;
  return stopped === 0 ? stateOf(one, nowMs) : `${stateOf(one, nowMs)}, ${stopped} stopped`;
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
    const text = `${node} is emptied no more; what has moved stays where it is`;
    return tell(flags, text, await api.get<NodeAnswer>(path));
  }
  await api.write('POST', `${path}/drain`);
  if (!flags.wait) {
    const text = `${node} is being emptied; kvorum nodes shows how far`;
    return tell(flags, text, (await nodeIfKnown(api, path)) ?? forgotten(node));
  }
  const line = new ProgressLine(flags);
  const now = (await untilEmpty(api, path, line)) ?? forgotten(node);
  line.end();
  const taken = `${node} is not drained any more: somebody took that back`;
  const done = `${node} holds nothing any more: it may be stopped for good`;
  tell(flags, now.draining === null ? taken : done, now);
}

/**
 * Or until the drain is taken back. A placedriver may not have heard of it at first. Undefined: the
 * node is none of the cluster's any more, which one that is away is once it holds nothing.
 */
async function untilEmpty(
  api: Api,
  path: string,
  line: ProgressLine,
): Promise<NodeAnswer | undefined> {
  const heardByMs = performance.now() + HEARD_MS;
  let heard = false;
  for (;;) {
    const now = await nodeIfKnown(api, path);
    const { stability } = await api.get<ClusterAnswer>('/v1/cluster');
    const draining = now?.draining ?? null;
    if (draining !== null) {
      heard = true;
      line.show(barLine(draining.progress, noteOf(draining, stability.frozen)));
      if (draining.left === 0) return now;
    } else if (heard || performance.now() > heardByMs) return now;
    await sleep(LOOK_MS);
  }
}

async function nodeIfKnown(api: Api, path: string): Promise<NodeAnswer | undefined> {
  try {
    return await api.get<NodeAnswer>(path);
  } catch (failure) {
    if (codeOf(failure) === 'NOT_FOUND') return undefined;
    throw failure;
  }
}

/** For programs: as the placedriver tells an empty node. When it went is not told any more. */
function forgotten(name: string): NodeAnswer {
  return {
    ...{ name, alive: false, lostSinceMs: null, replicas: 0, leaders: 0 },
    draining: { replicas: 0, left: 0, progress: 1, etaMs: null },
  };
}

function noteOf(draining: NonNullable<NodeAnswer['draining']>, frozen: string | null): string {
  if (draining.left === 0) return 'empty';
  const left = `${draining.left} of ${draining.replicas} replicas left`;
  if (frozen !== null) return `${left}; stands still: ${frozen}`;
  if (draining.waitsFor) return `${left}; ${draining.waitsFor}`;
  return draining.etaMs === null ? left : `${left}, about ${durationText(draining.etaMs)}`;
}
