/** Three nodes in this process; messages go straight from host to host. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../../src/common/clock.ts';
import { errorTable } from '../../../src/common/errors.ts';
import { fsDisk } from '../../../src/common/fs-disk.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { seededRandom } from '../../../src/common/random.ts';
import { createMemoryHost, type MemoryHost } from '../../../src/datanode/engine/memory.ts';
import type { CommandBatch, LineResult } from '../../../src/datanode/partition/entries/batch.ts';
import { PartitionHost } from '../../../src/datanode/partition/host/host.ts';
import type { LeaderNews } from '../../../src/datanode/partition/host/host-options.ts';
import {
  defaultHostSettings,
  type HostSettings,
} from '../../../src/datanode/partition/host/host-settings.ts';
import { ReplicaNotes } from '../../../src/datanode/partition/host/replica-notes.ts';
import type { WantedTable } from '../../../src/datanode/partition/host/replica-set.ts';
import { decodeSnapshotHeader } from '../../../src/datanode/partition/snapshots/snapshot-codec.ts';
import type { RaftLog } from '../../../src/datanode/raftlog/raft-log.ts';
import { openSharedLog } from '../../../src/datanode/raftlog/shared-log.ts';
import type { Transport } from '../../../src/datanode/transport/transport.ts';
import type { CatchingUp, Membership, PartitionRecord } from '../../../src/meta/schema.ts';

export class Trio {
  readonly dir: string;
  readonly settings: Partial<HostSettings>;
  readonly engines = new Map<string, MemoryHost>();
  readonly hosts = new Map<string, PartitionHost>();
  readonly logs = new Map<string, RaftLog>();
  readonly faults: string[] = [];
  /** Of leaders, by the node that told it. */
  readonly news = new Map<string, LeaderNews[]>();
  /** Ordered pairs that hear nothing of each other: `from>to`. */
  readonly cut = new Set<string>();
  /** Who each node is now; a wiped one is somebody else. */
  readonly incarnations = new Map([
    ['n1', 'i'],
    ['n2', 'i'],
    ['n3', 'i'],
  ]);
  /** What leaders told of their learners. */
  readonly catchingUp: CatchingUp[] = [];
  readonly memberships = new Map<number, Membership>();
  /** Nodes that cannot read the metadata store, and the record that they have saved. */
  readonly offline = new Map<string, PartitionRecord>();
  /** Of nodes that have another than the system's. */
  readonly clocks = new Map<string, Clock>();
  /** What nodes were told to publish by scripts: `node: channel=message`. */
  readonly published: string[] = [];
  /** Nodes that know that reads are to be served under leases. */
  readonly underLease = new Set<string>();
  record: PartitionRecord;

  /** `settings`: what differs from those of all tests, where groups do not sleep. */
  constructor(settings: Partial<HostSettings> = {}) {
    this.settings = settings;
    this.dir = mkdtempSync(join(tmpdir(), 'kvorum-test-'));
    const replicas = ['n1', 'n2', 'n3'].map((node, at) => ({
      replica: at + 1,
      node,
      incarnation: 'i',
    }));
    this.record = {
      version: 1,
      namespace: 'default',
      partition: 0,
      group: 1,
      firstSlot: 0,
      lastSlot: 16_383,
      birth: replicas,
      replicas,
      epoch: 1,
      fence: 1,
    };
  }

  async start(node: string): Promise<void> {
    const clock = this.clocks.get(node) ?? systemClock;
    const log = await openSharedLog({
      disk: fsDisk,
      dir: join(this.dir, node),
      clock,
      logger: silentLogger,
      segmentBytes: 4 * 1024 * 1024,
      onFailure: (error) => this.faults.push(error.message),
    });
    const engines = this.engines.get(node) ?? createMemoryHost();
    this.engines.set(node, engines);
    const host = new PartitionHost({
      node,
      incarnation: this.incarnations.get(node)!,
      clock,
      random: seededRandom(node),
      logger: silentLogger,
      log,
      engines,
      settings: {
        ...defaultHostSettings,
        tickMs: 10,
        engineSyncIntervalMs: 20,
        logKeepEntries: 50,
        logKeepBytes: 1,
        sleepAfterTicks: 0,
        ...this.settings,
      },
      notes: await ReplicaNotes.open(fsDisk, join(this.dir, node), this.incarnations.get(node)!),
      keyEvents: {
        wanted: () => false,
        publish: () => {},
        publishMessage: ({ channel, message }) =>
          this.published.push(`${node}: ${channel}=${message}`),
        countLost: () => {},
      },
      onLeader: (news) => {
        this.news.set(node, [...(this.news.get(node) ?? []), news]);
        if (news.own) this.catchingUp.push(...news.catchingUp);
        if (news.own) this.reported(news.record.group, news.membership);
      },
      onReplicaFault: (_record, _replica, error) => this.faults.push(error.message),
    });
    this.hosts.set(node, host);
    this.logs.set(node, log);
    await host.start(this.transport(node));
    const saved = this.offline.get(node);
    await host.applyTable(this.table(saved ?? this.record, node));
    if (saved === undefined) host.current();
  }

  /** The node reads the metadata store again. */
  async online(node: string): Promise<void> {
    this.offline.delete(node);
    await this.arrange();
    this.hosts.get(node)!.current();
  }

  /** What the placedriver would write: the next version of the wanted record. */
  async want(replicas: PartitionRecord['replicas']): Promise<void> {
    this.record = { ...this.record, replicas, epoch: this.record.epoch + 1 };
    await this.arrange();
  }

  /** As an operator's rebuild writes it. */
  async rebuild(survivor: PartitionRecord['replicas'][number]): Promise<void> {
    const { record } = this;
    const epoch = record.epoch + 1;
    const members = [
      ...new Map([...record.birth, ...record.replicas].map((of) => [of.replica, of])),
    ];
    const lost = members.map(([, of]) => of).filter(({ replica }) => replica !== survivor.replica);
    const formerGroups = [...(record.rebuilt?.formerGroups ?? []), record.group];
    const group = record.group + 1;
    const [birth, replicas] = [[survivor], [survivor]];
    const rebuilt = { epoch, formerGroups, lost };
    this.record = { ...record, group, birth, replicas, epoch, rebuilt };
    await this.arrange();
  }

  private table(record: PartitionRecord, node: string): WantedTable {
    const underLease = new Set(this.underLease.has(node) ? [record.namespace] : []);
    return { records: [record], memberships: this.memberships, deletions: [], underLease };
  }

  async arrange(): Promise<void> {
    const hosts = [...this.hosts].filter(([node]) => !this.offline.has(node));
    await Promise.all(hosts.map(([node, host]) => host.applyTable(this.table(this.record, node))));
  }

  /** The node's disk is new: it comes back as another incarnation. */
  async wipe(node: string): Promise<void> {
    await this.stop(node);
    rmSync(join(this.dir, node), { recursive: true });
    this.engines.delete(node);
    this.incarnations.set(node, `${this.incarnations.get(node)}+`);
    await this.start(node);
  }

  private reported(group: number, membership: Membership): void {
    this.memberships.set(group, membership);
    setImmediate(() => void this.arrange());
  }

  async caughtUp(node: string, index: number): Promise<void> {
    for (let tried = 0; tried < 2_000; tried++) {
      if ((this.hosts.get(node)?.local('default', 0)?.appliedIndex ?? 0) >= index) return;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    throw new Error(`${node} does not catch up`);
  }

  async stop(node: string): Promise<void> {
    const host = this.hosts.get(node);
    this.hosts.delete(node);
    await host?.stop();
    await this.logs.get(node)?.close();
  }

  /** What the transports of the others would say. */
  tellOfPeer(node: string, reachable: boolean): void {
    for (const [name, host] of this.hosts) if (name !== node) host.onPeer(node, reachable);
  }

  async destroy(): Promise<void> {
    for (const node of [...this.hosts.keys()]) await this.stop(node);
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** To whom each snapshot stream went and where it began. */
  readonly streams: { readonly to: string; readonly offset: number }[] = [];
  /** How many chunks the next ones carry before they break. */
  readonly breakStreamsAfter: number[] = [];

  /**
   * Whoever is late when the group begins is sent a snapshot: the log keeps nothing for who was never heard.
   * From here on streams are those of what a test does.
   */
  forgetStreams(): void {
    this.streams.length = 0;
  }

  /** Where the snapshot streams to `node` began. */
  offsetsTo(node: string): number[] {
    return this.streams.filter(({ to }) => to === node).map(({ offset }) => offset);
  }

  /** Every message sent, by type and replicas. */
  readonly sent: string[] = [];

  transport(from: string): Transport {
    const reach = (to: string) => (this.cut.has(`${from}>${to}`) ? undefined : this.hosts.get(to));
    return {
      setPeers() {},
      post: () => false,
      send: (to, group, message) => {
        this.sent.push(`${message.type} ${message.from}>${message.to}`);
        setImmediate(() => reach(to)?.onMessages(from, [{ group, message }]));
      },
      request: async (to, body) => {
        const host = reach(to);
        if (host === undefined) throw new Error('unreachable');
        return host.onRequest(from, body)!;
      },
      stream: (to, header, chunks) => {
        this.streams.push({ to, offset: decodeSnapshotHeader(header).offset });
        const cut = this.breakStreamsAfter.shift();
        const carried = cut === undefined ? chunks : breaking(chunks, cut);
        return reach(to)?.onStream(header, carried) ?? Promise.reject(new Error('unreachable'));
      },
      isReachable: (node) => this.hosts.has(node),
      peerWallMs: () => Date.now(),
      port: 0,
      close: () => Promise.resolve(),
    } as Transport;
  }

  async leader() {
    for (let tried = 0; tried < 1_000; tried++) {
      for (const host of this.hosts.values()) {
        const replica = host.local('default', 0);
        if (replica?.isLeader && !this.isCut(replica.id)) return replica;
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    throw new Error(`no leader: ${this.faults.join('; ')}`);
  }

  isCut(replica: number): boolean {
    return this.cut.has(`n${replica}>n${replica}`);
  }

  /** As a lane does: what was not proposed as a whole is sent again, to the next leader. */
  async run(kind: 'read' | 'write', ...lines: string[]): Promise<string[]> {
    for (let tried = 0; ; tried++) {
      const leader = await this.leader();
      const results = await leader.execute(batchOf(kind, lines));
      const again = results.every(
        (result) => !result.ok && errorTable[result.code].outcome === 'not-proposed',
      );
      if (!again || tried === 100) return results.map(textOf);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

export function textOf(result: LineResult): string {
  if (!result.ok) return result.code;
  const { reply } = result;
  if (reply.kind === 'simple') return `+${reply.text}`;
  if (reply.kind === 'integer') return `:${reply.value}`;
  if (reply.kind === 'bulk') return `$${reply.bytes.length}\r\n${reply.bytes}`;
  return reply.kind === 'null' ? '$-1' : JSON.stringify(reply);
}

/** The first `count` chunks, then a lost connection. */
async function* breaking(chunks: AsyncIterable<Buffer>, count: number): AsyncGenerator<Buffer> {
  let left = count;
  for await (const chunk of chunks) {
    if (left-- === 0) throw new Error('the connection broke');
    yield chunk;
  }
}

/** Commands as words, to be answered within 10 s. */
export function batchOf(kind: 'read' | 'write', lines: readonly string[]): CommandBatch {
  return {
    namespace: 'default',
    partition: 0,
    kind,
    lines: lines.map((line) => line.split(' ').map((word) => Buffer.from(word))),
    protocol: 2,
    term: undefined,
    deadlineMs: systemClock.monotonicMs() + 10_000,
  };
}
