/**
 * SYNC and PSYNC for those who want a file: an RDB of the namespace, or at the cluster port of what this
 * node leads of it, in the form of which only the end is marked. Then the connection ends, for no stream
 * of commands follows.
 */
import { codeOf, messageOf } from '../../../common/errors.ts';
import type { Namespace } from '../../../common/ids.ts';
import { KVORUM_VERSION } from '../../../common/version.ts';
import { RunningCrc64 } from '../../encoding/rdb/crc64.ts';
import { encodeRdbFileHead, RDB_END } from '../../encoding/rdb/rdb-frame.ts';
import { error, OK, type Reply } from '../../resp/reply.ts';
import { argument, SYNTAX_ERROR, word } from '../rows/args.ts';
import type { BackedPartition, BackupState } from '../rows/backup-port.ts';
import type { Command, CommandFlag } from '../rows/command.ts';
import type { NodeContext } from '../rows/node-context.ts';
import { type Run, serverRow } from '../rows/server-row.ts';

/** Between two of these others have their turn: to sum so much up takes half a millisecond. */
const STEP_BYTES = 131_072;
const MANY_BUSY = 20;
const BUSY_MS = 500;

const NO_REPLICATION = error(
  'ERR kvorum has no replicas of this kind: it sends a file to who says REPLCONF rdb-only 1 first, as ' +
    '`redis-cli --rdb` does',
);
const NO_FILTER = error('ERR nothing of a file can be left out');
const NO_FOLLOWER = error('ERR this is the follower-read port: ask the gateway or cluster port');

/** REPLCONF option value …: who tells where it listens is a replica, unless it wants no more than a file. */
const replconf: Run = (args, { session }) => {
  if (args.length % 2 === 0) return error(SYNTAX_ERROR);
  for (let at = 1; at < args.length; at += 2) {
    const [option, value] = [word(argument(args, at)), argument(args, at + 1).toString('latin1')];
    if (option === 'rdb-only') session.syncs = value === '0' ? 'replication' : 'file';
    else if (option === 'rdb-filter-only') return NO_FILTER;
    else if (option === 'listening-port' && session.syncs !== 'file') session.syncs = 'replication';
    else if (!HEARD.has(option)) {
      return error(`ERR Unrecognized REPLCONF option: ${argument(args, at).toString('latin1')}`);
    }
  }
  return OK;
};

const HEARD = new Set(['listening-port', 'ip-address', 'capa', 'version']);

/** SYNC: redis-cli sends nothing before it when it saves the nodes of a cluster. */
const sync: Run = (_args, context) =>
  context.session.syncs === 'replication' ? NO_REPLICATION : sendFile(context, '');

/** PSYNC replicationid offset: always from the beginning. */
const psync: Run = (_args, context) => {
  if (context.session.syncs !== 'file') return NO_REPLICATION;
  return sendFile(context, `+FULLRESYNC ${context.info().facts.clusterRunId} 0\r\n`);
};

async function sendFile(context: NodeContext, greeting: string): Promise<Reply> {
  const { session } = context;
  if (session.door === 'follower') return NO_FOLLOWER;
  const file = new SentFile(context);
  try {
    await file.send(greeting);
  } catch (failure) {
    const isBegun = file.isBegun;
    if (codeOf(failure) === undefined) throw failure;
    // a file without its mark is none
    if (isBegun) session.kill();
    return error(`ERR no file: ${messageOf(failure)}`);
  }
  session.closeAfterReply();
  return raw(file.mark);
}

class SentFile {
  readonly mark: Buffer;
  isBegun = false;
  readonly #context: NodeContext;
  readonly #namespace: Namespace;
  readonly #crc = new RunningCrc64();

  constructor(context: NodeContext) {
    this.#context = context;
    this.#namespace = context.session.namespace;
    this.mark = Buffer.from(context.backups.mark(), 'latin1');
  }

  /** All but the mark behind it. */
  async send(greeting: string): Promise<void> {
    const { backups, session, nowMs } = this.#context;
    const places = this.#places();
    let [version, keys, expires] = [0, 0, 0];
    let withLibraries: number | undefined;
    for (const { partition } of places) {
      const state = await this.#open(partition, withLibraries === undefined);
      await backups.close(state.id);
      // all have the same, and a file must have each once
      if (state.libraries !== undefined) withLibraries ??= partition;
      version = Math.max(version, state.rdbVersion);
      keys += state.keys;
      expires += state.expires;
    }
    const made = { madeS: Math.floor(nowMs / 1_000), madeBy: KVORUM_VERSION };
    this.isBegun = true;
    session.push(raw(Buffer.from(`${greeting}$EOF:${this.mark.toString('latin1')}\r\n`, 'latin1')));
    await this.#add(encodeRdbFileHead({ version, ...made, keys, expires }));
    for (const { partition } of places) {
      await this.#addPages(partition, partition === withLibraries);
    }
    await this.#add(RDB_END);
    session.push(raw(this.#crc.digest()));
    await session.taken();
  }

  /**
   * At the cluster port those whose slots this node is said to serve: so each is in the file of one node,
   * also while it has no leader, or another than was last told of.
   */
  #places(): readonly BackedPartition[] {
    const { backups, session, hasSlots, clusterNodes } = this.#context;
    const all = backups.partitions(this.#namespace);
    if (session.door !== 'cluster' || !hasSlots()) return all;
    const ranges = clusterNodes().find(({ myself }) => myself)?.slots ?? [];
    const isOwn = (slot: number) => ranges.some(([from, to]) => from <= slot && slot <= to);
    return all.filter(({ firstSlot }) => isOwn(firstSlot));
  }

  /** Where too many are open, in a moment perhaps. */
  async #open(partition: number, withLibraries: boolean): Promise<BackupState> {
    for (let left = MANY_BUSY; ; left--) {
      try {
        return await this.#context.backups.open(this.#namespace, partition, withLibraries);
      } catch (failure) {
        if (codeOf(failure) !== 'BUSY' || left === 0) throw failure;
        await this.#context.sleep(BUSY_MS);
      }
    }
  }

  async #addPages(partition: number, withLibraries: boolean): Promise<void> {
    const { backups } = this.#context;
    const { id } = await this.#open(partition, withLibraries);
    try {
      let offset = 0;
      for (let isLast = false; !isLast; ) {
        const page = await backups.page(id, offset);
        offset += page.bytes.length;
        isLast = page.isLast;
        await this.#add(page.bytes);
      }
    } finally {
      backups.close(id).catch(() => {});
    }
  }

  async #add(bytes: Buffer): Promise<void> {
    const { session } = this.#context;
    for (let at = 0; at < bytes.length; at += STEP_BYTES) {
      if (at > 0) await this.#context.sleep(0);
      this.#crc.update(bytes.subarray(at, at + STEP_BYTES));
    }
    session.push(raw(bytes));
    await session.taken();
  }
}

function raw(bytes: Buffer): Reply {
  return { kind: 'encoded', bytes };
}

const flags: readonly CommandFlag[] = ['admin', 'noscript', 'no_multi'];

const SENDS = 'Sends an RDB file of the namespace.';

export const replicationCommands: readonly Command[] = [
  serverRow(
    'replconf',
    -1,
    ['admin', 'noscript', 'loading', 'stale', 'allow_busy'],
    '3.0.0',
    'Tells what a client of SYNC wants.',
    replconf,
  ),
  { ...serverRow('sync', 1, flags, '1.0.0', SENDS, sync), readsAnyKey: true },
  { ...serverRow('psync', -3, flags, '2.8.0', SENDS, psync), readsAnyKey: true },
];
