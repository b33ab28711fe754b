/** `kvorum move`, `transfer-leader` and `rebuild`: one partition at a time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { KvorumError } from '../../common/errors.ts';
import { Api, type ApiFlags, HEARD_MS } from './api.ts';
import { ProgressLine, tell } from './print.ts';
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
  if (!flags.wait) {
    const text = `${partition} moves from ${from} to ${to}; kvorum partitions`;
    return tell(flags, text, await api.get<PartitionAnswer>(path));
  }
  const line = new ProgressLine(flags);
  const moved = await untilMoved(api, path, partition, { from, to }, ({ actual }) => {
    const filled = (actual?.learners.length ?? 0) > 0;
    line.show(`${partition}: ${filled ? 'the new replica is filled' : 'the members change'} …`);
  });
  line.end();
  tell(flags, `${partition} has moved from ${from} to ${to}`, moved);
}

/**
 * The placedriver that is asked may be one that has not heard of the move yet. Throws CONFLICT when
 * it was given up, so that nothing is waited for, and when it ended on another node.
 */
async function untilMoved(
  api: Api,
  path: string,
  partition: string,
  { from, to }: { readonly from: string; readonly to: string },
  onWait: (now: PartitionAnswer) => void,
): Promise<PartitionAnswer> {
  let heard = false;
  for (;;) {
    const now = await api.get<PartitionAnswer>(path);
    const holders = now.wanted.map(({ node }) => node);
    const stays = holders.includes(from);
    if (now.settled && !stays) {
      if (holders.includes(to)) return now;
      throw new KvorumError('CONFLICT', elsewhereText(partition, from, to, holders));
    }
    if (heard && stays) {
      throw new KvorumError(
        'CONFLICT',
        `${partition} stays on ${from}: its replica on ${to} could not be filled; ` +
          `look at the log of ${to} and of the placedrivers, then move it again`,
      );
    }
    heard ||= !stays;
    onWait(now);
    await sleep(LOOK_MS);
  }
}

/** The master sends a replica elsewhere when its new node is drained, or lost, on the way. */
function elsewhereText(
  partition: string,
  from: string,
  to: string,
  holders: readonly string[],
): string {
  return (
    `${partition} has left ${from}, but not for ${to}: its replicas are on ${holders.join(', ')}; ` +
    `kvorum nodes shows whether ${to} is drained or away, the log of the placedrivers why`
  );
}

export async function transferLeader(
  partition: string,
  to: string,
  flags: MoveFlags,
): Promise<void> {
  const api = new Api(flags);
  const path = partitionPath(partition);
  await api.write('POST', `${path}/transfer-leader`, { to });
  if (!flags.wait) {
    const text = `${to} should lead ${partition} from now on`;
    return tell(flags, text, await api.get<PartitionAnswer>(path));
  }
  const line = new ProgressLine(flags);
  const led = await untilLed(api, path, partition, to, (text) => line.show(text));
  line.end();
  tell(flags, `${partition} is led by ${to}`, led);
}

/** Throws CONFLICT when somebody else is to lead it again, so that nothing is waited for. */
async function untilLed(
  api: Api,
  path: string,
  partition: string,
  to: string,
  onWait: (text: string) => void,
): Promise<PartitionAnswer> {
  const heardByMs = performance.now() + HEARD_MS;
  let heard = false;
  for (;;) {
    const now = await api.get<PartitionAnswer>(path);
    if (now.leader?.node === to) return now;
    const first = now.wanted[0]?.node;
    heard ||= first === to;
    if (first !== to && (heard || performance.now() > heardByMs)) {
      throw new KvorumError(
        'CONFLICT',
        `${partition} is to be led by ${first} again, so that leaders are even; ` +
          'to keep it otherwise, switch that off first: kvorum balance off',
      );
    }
    onWait(`${partition} is led by ${now.leader?.node ?? 'nobody'}`);
    await sleep(LOOK_MS);
  }
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
  const api = new Api(flags);
  const path = partitionPath(partition);
  await api.write('POST', `${path}/rebuild`, { survivor, confirmation });
  const text = `${partition} is rebuilt from what ${survivor} holds; kvorum partitions shows how far`;
  tell(flags, text, await api.get<PartitionAnswer>(path));
}
