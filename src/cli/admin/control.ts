/** `kvorum balance`, `upgrade` and `stable-nodes`: switches of the whole cluster. */
import { isDeepStrictEqual } from 'node:util';
import { KvorumError } from '../../common/errors.ts';
import { Api, type ApiFlags, untilHeard } from './api.ts';
import { say, sayJson, tableLines } from './print.ts';
import type { ClusterAnswer, PlannedAnswer } from './shapes.ts';

export interface BalanceFlags extends ApiFlags {
  /** `22:00-06:00` (UTC), or `any`. */
  readonly window?: string;
}

export async function balance(state: string | undefined, flags: BalanceFlags): Promise<void> {
  const api = new Api(flags);
  const change = {
    ...(state !== undefined && { enabled: isOn('balance', state) }),
    ...(flags.window !== undefined && { window: windowOf(flags.window) }),
  };
  if (Object.keys(change).length > 0) await api.write('PUT', '/v1/control/balance', change);
  const wanted = Object.entries(change);
  const cluster = await clusterOnce(api, ({ balance: now }) =>
    wanted.every(([name, value]) => isDeepStrictEqual(now[name as keyof typeof now], value)),
  );
  const planned = await api.get<PlannedAnswer>('/v1/moves/planned');
  if (flags.json) return sayJson({ ...cluster.balance, planned });
  const { enabled, window } = cluster.balance;
  const when = window === null ? 'at any time' : `from ${window.from} to ${window.to} UTC`;
  say(enabled ? `replicas move to be more even ${when}` : 'replicas do not move to be more even');
  const { unbalanced, moves } = planned;
  if (unbalanced !== null) say(`not now: ${unbalanced}`);
  if (moves.length === 0) return say('nothing is to move');
  const rows = moves.map((one) => [`${one.namespace}/${one.partition}`, one.from, one.to]);
  for (const line of tableLines(['would move', 'from', 'to'], rows)) say(line);
}

export async function upgrade(step: string | undefined, flags: ApiFlags): Promise<void> {
  const api = new Api(flags);
  if (step !== undefined) {
    if (step !== 'begin' && step !== 'done') {
      throw new KvorumError('BAD_ARGUMENT', `upgrade ${step}: say begin or done`);
    }
    await api.write('PUT', '/v1/control/upgrade', { on: step === 'begin' });
  }
  const { upgrade: mode } = await clusterOnce(
    api,
    ({ upgrade: now }) => step === undefined || now.on === (step === 'begin'),
  );
  if (flags.json) return sayJson(mode);
  say(
    mode.on
      ? 'upgrade mode: no replica moves until kvorum upgrade done'
      : 'no upgrade: replicas move as they must',
  );
}

export async function stableNodes(count: number | undefined, flags: ApiFlags): Promise<void> {
  const api = new Api(flags);
  if (count !== undefined) await api.write('PUT', '/v1/control/stable-nodes', { count });
  const { nodes, stability } = await clusterOnce(
    api,
    ({ nodes: now }) => count === undefined || now.stable === count,
  );
  if (flags.json) return sayJson(nodes);
  say(`stable node count ${nodes.stable}, ${nodes.alive} datanodes alive`);
  if (stability.frozen !== null) say(`nothing moves: ${stability.frozen}`);
}

/** As it is once `isAsWritten`. */
function clusterOnce(
  api: Api,
  isAsWritten: (now: ClusterAnswer) => boolean,
): Promise<ClusterAnswer> {
  return untilHeard(() => api.get<ClusterAnswer>('/v1/cluster'), isAsWritten);
}

function isOn(verb: string, state: string): boolean {
  if (state === 'on' || state === 'off') return state === 'on';
  throw new KvorumError('BAD_ARGUMENT', `${verb} ${state}: say on or off`);
}

function windowOf(text: string): { from: string; to: string } | null {
  if (text === 'any') return null;
  const [, from, to] = /^([0-9]{2}:[0-9]{2})-([0-9]{2}:[0-9]{2})$/.exec(text) ?? [];
  if (from !== undefined && to !== undefined) return { from, to };
  throw new KvorumError('BAD_ARGUMENT', `--window ${text}: write 22:00-06:00 (UTC), or any`);
}
