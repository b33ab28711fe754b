/** `kvorum move`, `transfer-leader` and `rebuild`: one partition at a time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { KvorumError } from '../../common/errors.ts';
import { Api, type ApiFlags } from './api.ts';
import { ProgressLine, say } from './print.ts';
import type { PartitionAnswer } from './shapes.ts';

const LOOK_MS = 250;

/** `namespace/number` → its path in /v1. Throws BAD_ARGUMENT. */
export function partitionPath(name: string): string {
  const [, namespace, number] = /^(.+)\/([0-9]{1,4})$/.exec(name) ?? [];
  if (namespace === undefined || number === undefined) {
    throw new KvorumError('BAD_ARGUMENT', `${name}: name a partition as default/3`);
  }
  return `/v1/namespaces/${encodeURIComponent(namespace)}/partitions/${number}`;
}

export interface MoveFlags extends ApiFlags {
  readonly wait: boolean;
}

export async function move(
  partition: string,
  from: string,
  to: string,
  flags: MoveFlags,
): Promise<void> {
  const api = new Api(flags);
  const path = partitionPath(partition);
  await api.write('POST', `${path}/move`, { from, to });
  if (!flags.wait) return say(`${partition} moves from ${from} to ${to}; kvorum partitions`);
  await untilSettled(api, path, partition);
  say(`${partition} has moved from ${from} to ${to}`);
}

export async function transferLeader(
  partition: string,
  to: string,
  flags: MoveFlags,
): Promise<void> {
  const api = new Api(flags);
  const path = partitionPath(partition);
  await api.write('POST', `${path}/transfer-leader`, { to });
  if (!flags.wait) return say(`${to} should lead ${partition} from now on`);
  const line = new ProgressLine();
  for (;;) {
    const { leader } = await api.get<PartitionAnswer>(path);
    if (leader?.node === to) break;
    line.show(`${partition} is led by ${leader?.node ?? 'nobody'}`);
    await sleep(LOOK_MS);
  }
  line.end();
  say(`${partition} is led by ${to}`);
}

export interface RebuildFlags extends ApiFlags {
  readonly survivor: string;
  readonly confirm?: string;
}

export async function rebuild(partition: string, flags: RebuildFlags): Promise<void> {
  const { survivor, confirm: confirmation } = flags;
  const wanted = `lose-data-of ${partition}`;
  if (confirmation !== wanted) {
    throw new KvorumError(
      'BAD_ARGUMENT',
      `this gives up all replicas of ${partition} but that of ${survivor}, and every acknowledged ` +
        `write that only the others hold, for ever; to mean it, say --confirm "${wanted}"`,
    );
  }
  await new Api(flags).write('POST', `${partitionPath(partition)}/rebuild`, {
    survivor,
    confirmation,
  });
  say(`${partition} is rebuilt from what ${survivor} holds; kvorum partitions shows how far`);
}

async function untilSettled(api: Api, path: string, partition: string): Promise<void> {
  const line = new ProgressLine();
  for (;;) {
    const { settled, actual } = await api.get<PartitionAnswer>(path);
    if (settled) break;
    const filled = (actual?.learners.length ?? 0) > 0;
    line.show(`${partition}: ${filled ? 'the new replica is filled' : 'the members change'} …`);
    await sleep(LOOK_MS);
  }
  line.end();
}
