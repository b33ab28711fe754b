/** Switches of the whole cluster: balancing, upgrade mode, the stable node count. */
import { KvorumError } from '../../common/errors.ts';
import { limits } from '../../common/limits.ts';
import { decodeRecord, recordKinds } from '../../meta/records.ts';
import {
  type BalanceWindow,
  type ControlRecord,
  encodeRecord,
  keys,
  type NodeStateRecord,
} from '../../meta/schema.ts';
import type { Compare, Leadership, MetaOperation } from '../../meta/store.ts';
import { firstControl } from '../control-record.ts';
import { fencedChange } from '../fenced.ts';
import { formatWindow } from '../stability/balance-window.ts';
import type { MasterTerm } from '../term.ts';
import { attempt } from './attempt.ts';
import type { BalanceChange, Operator } from './operator.ts';

type ControlRequests = Pick<Operator, 'setBalance' | 'lowerStableNodes' | 'setUpgrade'>;

interface Change {
  readonly unchanged: Compare;
  readonly operation: MetaOperation;
}

interface StoredControl {
  readonly record: ControlRecord;
  readonly unchanged: Compare;
  /** False: the chores have not written one yet. */
  readonly stored: boolean;
}

export function controlRequests(term: MasterTerm): ControlRequests {
  const { clock, logger } = term;
  return {
    async setBalance(change) {
      checkBalance(change);
      await changeControl(term, (record) => {
        const { window: before, ...rest } = record.balance;
        const window = change.window === undefined ? before : (change.window ?? undefined);
        const enabled = change.enabled ?? rest.enabled;
        return { ...record, balance: { ...rest, enabled, ...(window && { window }) } };
      });
      const { enabled, window } = change;
      const shown = window && formatWindow(window);
      logger.info('an operator set balancing', { enabled, window: shown ?? window });
    },

    async lowerStableNodes(count) {
      if (!Number.isInteger(count) || count < 1) {
        throw new KvorumError('BAD_ARGUMENT', `number: ${count} is no whole number from 1 on`);
      }
      await attempt(term, () => lowerStableNodes(term, count));
      logger.info('an operator set the stable node count', { count });
    },

    async setUpgrade(on) {
      await changeControl(term, (record) => {
        if (on === (record.upgradeSinceMs !== undefined)) return record;
        const { upgradeSinceMs: _, ...rest } = record;
        return on ? { ...rest, upgradeSinceMs: clock.wallMs() } : rest;
      });
      logger.info(`an operator ${on ? 'began' : 'ended'} upgrade mode`);
    },
  };
}

function checkBalance({ enabled, window }: BalanceChange): void {
  if (enabled === undefined && window === undefined) {
    throw new KvorumError('BAD_ARGUMENT', 'enabled, window: one of them is to be given');
  }
  if (window) checkWindow(window);
}

function checkWindow(window: BalanceWindow): void {
  for (const name of ['fromMinute', 'toMinute'] as const) {
    const minute = window[name];
    if (Number.isInteger(minute) && minute >= 0 && minute < 1_440) continue;
    const text = `window.${name}: ${minute} is no minute of the day, 0 to 1439`;
    throw new KvorumError('BAD_ARGUMENT', text);
  }
  if (window.fromMinute !== window.toMinute) return;
  throw new KvorumError(
    'BAD_ARGUMENT',
    'window: it ends where it begins; give null for any time, or switch balancing off for none',
  );
}

/** Writes nothing when nothing changes. */
function changeControl(
  term: MasterTerm,
  change: (record: ControlRecord) => ControlRecord,
): Promise<void> {
  return attempt(term, async () => {
    const { record, unchanged, stored } = await readControl(term);
    const next = encodeRecord(change(record));
    if (stored && next === encodeRecord(record)) return true;
    return writeAll(term, [
      { unchanged, operation: { type: 'put', key: keys.control, value: next } },
    ]);
  });
}

/**
 * With the count, the nodes that are away are written off: whoever lowers it says that they are not
 * merely cut off, and that what waits for them may go on. False: to be tried again.
 */
async function lowerStableNodes(term: MasterTerm, count: number): Promise<boolean> {
  const { record, unchanged } = await readControl(term);
  const { items } = await term.store.range(keys.nodes);
  if (count > record.stableNodes) {
    throw new KvorumError(
      'BAD_ARGUMENT',
      `number: ${count} is more than the stable node count, ${record.stableNodes}, ` +
        'which only grows by itself, with the datanodes that are alive',
    );
  }
  if (count < items.length) {
    throw new KvorumError(
      'CONFLICT',
      `number: ${items.length} datanodes are alive, so the count would grow again at once; ` +
        'stop those that are to go (drain them first), then lower it',
    );
  }
  const alive = new Set(items.map(({ key }) => key.slice(keys.nodes.length)));
  const changes = await planWriteOffs(term, alive);
  const next: ControlRecord = { ...record, stableNodes: count };
  const operation = { type: 'put', key: keys.control, value: encodeRecord(next) } as const;
  changes.push({ unchanged, operation });
  return writeAll(term, changes);
}

async function planWriteOffs(term: MasterTerm, alive: ReadonlySet<string>): Promise<Change[]> {
  const { items } = await term.store.range(keys.nodeStates);
  const nowMs = term.clock.wallMs();
  const changes: Change[] = [];
  for (const { key, value, modRevision } of items) {
    const state = decodeRecord(recordKinds.nodeState, key, value);
    if (alive.has(state.node) || state.writtenOff) continue;
    const next: NodeStateRecord = { lostSinceMs: nowMs, ...state, writtenOff: true };
    const operation = { type: 'put', key, value: encodeRecord(next) } as const;
    changes.push({ unchanged: { key, modRevision }, operation });
  }
  return changes;
}

/** Throws BAD_RECORD when it cannot be read: it is not written over. */
async function readControl({ store, picture, settings }: MasterTerm): Promise<StoredControl> {
  const item = await store.get(keys.control);
  const unchanged = { key: keys.control, modRevision: item?.modRevision ?? 0 };
  const record = item
    ? decodeRecord(recordKinds.control, item.key, item.value)
    : firstControl(settings, picture.aliveNodes().length);
  return { record, unchanged, stored: item !== undefined };
}

/** In order; false when one of the records has changed meanwhile. */
async function writeAll(
  { store, fence, leadership }: MasterTerm,
  changes: readonly Change[],
): Promise<boolean> {
  // each operation has its compare, and the fence is one more
  const atOnce = limits.metaTxnOperationsMax - 1;
  for (let at = 0; at < changes.length; at += atOnce) {
    throwIfDeposed(leadership);
    const part = changes.slice(at, at + atOnce);
    const unchanged = part.map((change) => change.unchanged);
    const operations = part.map((change) => change.operation);
    if (!(await fencedChange(store, fence, unchanged, operations))) return false;
  }
  return true;
}

function throwIfDeposed({ lost }: Leadership): void {
  if (!lost.aborted) return;
  throw new KvorumError('LEASE_LOST', 'this placedriver is master no more; ask again');
}
