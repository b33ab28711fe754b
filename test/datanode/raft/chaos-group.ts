/**
 * A group of replicas whose messages, disks, crashes and membership are driven by one seed. The
 * disk is modelled: storage work that was handed out is durable only when it was processed; at a
 * crash a random prefix of what waits survives (written, not acknowledged), the rest is gone. The
 * state machine's own durable state lags behind what it applied, as in the datanode.
 */
import type { LogIndex, ReplicaId, Term } from '../../../src/common/ids.ts';
import type { Random } from '../../../src/common/random.ts';
import { EMPTY_CONF, members } from '../../../src/datanode/raft/conf-change.ts';
import { decodeConfChange } from '../../../src/datanode/raft/conf-change-codec.ts';
import type { RaftConfig } from '../../../src/datanode/raft/config.ts';
import type { LeaseConfig } from '../../../src/datanode/raft/lease.ts';
import type {
  ConfChange,
  ConfChangeStep,
  ConfState,
  Entry,
  HardState,
  Message,
  PeerMessage,
  Snapshot,
} from '../../../src/datanode/raft/message.ts';
import { jointVote } from '../../../src/datanode/raft/quorum.ts';
import { createRaftNode } from '../../../src/datanode/raft/raft.ts';
import type { RaftNode, Ready } from '../../../src/datanode/raft/ready.ts';
import { LogView, SafetyChecker, SafetyViolation } from './chaos-checker.ts';
import { type MemoryStorage, memoryStorage } from './memory-storage.ts';

type StorageAppend = Extract<Message, { type: 'storageAppend' }>;
type StorageApply = Extract<Message, { type: 'storageApply' }>;

/** What a run is like; drawn from the seed. */
export interface ChaosSettings {
  readonly voters: number;
  readonly async: boolean;
  readonly lease: boolean;
  readonly readFanout: 'all' | 'quorum';
  readonly appendFanout: 'all' | 'quorum';
  readonly preVote: boolean;
  readonly checkQuorum: boolean;
  readonly electionTicks: number;
  readonly messageBytesMax: number;
  readonly committedBytesMax: number;
  readonly uncommittedBytesMax: number;
  readonly inflightMessagesMax: number;
  /** Chances in a thousand. */
  readonly dropPermille: number;
  readonly repeatPermille: number;
  readonly faultsPermille: number;
}

interface Replica {
  readonly id: ReplicaId;
  readonly storage: MemoryStorage;
  /** Undefined while it is down. */
  node: RaftNode | undefined;
  appendWork: StorageAppend[];
  applyWork: StorageApply[];
  /** Applied by the state machine; durable there up to `appliedDurable`. */
  applied: LogIndex;
  appliedDurable: LogIndex;
  /** Configurations by the index that made them, ascending. */
  confs: { index: LogIndex; conf: ConfState }[];
  /** Of the last snapshot installed. */
  snapshotIndex: LogIndex;
  view: LogView;
  /** The last commit index that was checked. */
  commitSeen: LogIndex;
  ledTerm: Term;
  /** Reads that wait, with what was committed when they began. */
  reads: { number: number; floor: LogIndex }[];
  /** Its monotone clock's milliseconds per millisecond, and its wall clock. */
  readonly rate: number;
  wallAheadMs: number;
  /** What it has heard about leases. */
  underLease: boolean;
}

/** The first snapshot of all replicas: the configuration begins there. */
const START: LogIndex = 5;
const REPLICAS_MAX = 12;
const IN_FLIGHT_MAX = 200;
const SETTLE_ROUNDS_MAX = 400;
/** Of leases; an event takes half a millisecond on average. */
const PROMISE_MS = 40;
const DRIFT_MAX = 0.2;
const JUMP_MS = 1;
const NO_DATA = new Uint8Array(0);

export class ChaosGroup {
  readonly #random: Random;
  readonly #settings: ChaosSettings;
  readonly #checker = new SafetyChecker();
  readonly #replicas: Replica[] = [];
  /** Replicas that left the configuration for good. */
  readonly #gone = new Set<ReplicaId>();
  #inFlight: PeerMessage[] = [];
  /** Pairs that cannot talk: from * 64 + to. */
  #cut = new Set<number>();
  /** Snapshots that arrived and were not reported to their sender yet. */
  #reports: { from: ReplicaId; to: ReplicaId }[] = [];
  #chaos = true;
  #nowMs = 0;
  /** Under leases: whose ticks do not come, so that only its clock tells it how late it is. */
  #stalled: ReplicaId = 0;

  constructor(random: Random, settings: ChaosSettings) {
    this.#random = random;
    this.#settings = settings;
    const voters = Array.from({ length: settings.voters }, (_, i) => i + 1);
    const confState = { ...EMPTY_CONF, voters };
    this.#checker.beginAt(START, 1);
    for (const id of voters) {
      this.#add(id, { index: START, term: 1, confState, data: NO_DATA });
    }
  }

  /** Runs `steps` random events, checking after each. Throws a SafetyViolation. */
  run(steps: number): void {
    for (let i = 0; i < steps; i++) this.#event();
  }

  /**
   * Ends all faults and starts every member. Throws unless a leader is elected, a new proposal is
   * committed, and every member applies it.
   */
  settle(): void {
    this.#chaos = false;
    this.#cut.clear();
    for (const replica of this.#replicas) {
      if (this.#gone.has(replica.id)) this.#crash(replica);
      else if (replica.node === undefined) this.#start(replica);
    }
    let target: LogIndex | undefined;
    for (let round = 0; round < SETTLE_ROUNDS_MAX; round++) {
      this.#settleRound();
      const leader = this.#newestLeader();
      if (leader?.node === undefined) continue;
      this.#retireLeavers(leader);
      const done = this.#checker.committedMax;
      if (target === undefined) {
        const result = leader.node.propose([this.#nextPayload()]);
        if (result.ok) target = result.index;
      } else if (done >= target) {
        const behind = members(leader.node.status().confState).filter(
          (id) => this.#replica(id).applied < target!,
        );
        if (behind.length === 0) return;
      } else if (leader.node.status().lastIndex < target) {
        target = undefined;
      }
    }
    throw new SafetyViolation(
      `no progress after ${SETTLE_ROUNDS_MAX} rounds without faults:\n${this.#describe()}`,
    );
  }

  #describe(): string {
    const lines = this.#replicas.map(({ id, node, applied, confs }) => {
      if (node === undefined) return `${id}: down`;
      const { role, leader, hardState, lastIndex, confState, progress } = node.status();
      return (
        `${id}: ${role} of ${leader} ${JSON.stringify(hardState)} last ${lastIndex} ` +
        `applied ${applied} conf ${JSON.stringify(confState)} ${JSON.stringify(confs.at(-1))}` +
        ` ${JSON.stringify(progress)}`
      );
    });
    return lines.join('\n');
  }

  #settleRound(): void {
    this.#nowMs += PROMISE_MS / this.#settings.electionTicks;
    for (const replica of this.#live()) {
      replica.node!.tick();
      replica.node!.sendLateAppends();
    }
    for (let pass = 0; pass < 12; pass++) {
      for (const replica of this.#live()) {
        if (replica.node!.hasReady()) this.#processReady(replica);
        while (replica.appendWork.length > 0) this.#processAppend(replica);
        while (replica.applyWork.length > 0) this.#processApply(replica);
      }
      const messages = this.#inFlight;
      this.#inFlight = [];
      for (const message of messages) this.#deliver(message);
      while (this.#reports.length > 0) this.#reportOne();
    }
  }

  #newestLeader(): Replica | undefined {
    let newest: Replica | undefined;
    for (const replica of this.#live()) {
      if (replica.node!.role !== 'leader') continue;
      if (newest === undefined || replica.node!.term > newest.node!.term) newest = replica;
    }
    return newest;
  }

  /** A node destroys a replica that its group has removed. */
  #retireLeavers(leader: Replica): void {
    const { conf } = leader.confs.at(-1)!;
    const { lastIndex } = leader.node!.status();
    // An entry on its way may add a replica that this configuration does not show.
    if (conf.votersOutgoing.length > 0 || leader.applied < lastIndex) return;
    const present = members(conf);
    for (const replica of this.#live()) {
      if (present.includes(replica.id) || replica === leader) continue;
      this.#gone.add(replica.id);
      this.#crash(replica);
    }
  }

  #event(): void {
    if (this.#settings.lease) this.#leaseEvent();
    const dice = this.#random.below(1000);
    const { faultsPermille } = this.#settings;
    const kind = this.#random.below(100);
    if (dice < faultsPermille) this.#fault();
    else if (kind < 36) this.#deliverOne();
    else if (kind < 62) this.#workOne();
    else if (kind < 82) this.#tickOne();
    else if (kind < 93) this.#proposeOne();
    else if (kind < 96) this.#readOne();
    else if (kind < 97) this.#reportOne();
    else this.#operateOne();
  }

  #reportOne(): void {
    const report = this.#reports.shift();
    if (report === undefined) return;
    const from = this.#replica(report.from);
    from.node?.reportSnapshot(report.to, 'sent');
    this.#observe(from);
  }

  #fault(): void {
    const kind = this.#random.below(10);
    const replica = this.#any(this.#replicas);
    if (kind < 3) {
      this.#crash(replica);
    } else if (kind < 7) {
      const down = this.#replicas.filter((each) => each.node === undefined);
      for (const each of down) if (!this.#gone.has(each.id)) this.#start(each);
    } else if (kind < 9) {
      if (this.#random.below(4) === 0) replica.wallAheadMs += this.#random.below(2_000) - 1_000;
      this.#stalled = (this.#anyLeader() ?? replica).id;
      this.#partition();
    } else {
      this.#cut.clear();
    }
  }

  /** Splits the replicas at random, now and then in one direction only. */
  #partition(): void {
    this.#cut.clear();
    const side = new Set(
      this.#replicas.filter(() => this.#random.below(2) === 0).map((each) => each.id),
    );
    const oneWay = this.#random.below(4) === 0;
    for (const a of this.#replicas) {
      for (const b of this.#replicas) {
        if (side.has(a.id) === side.has(b.id)) continue;
        if (!oneWay || side.has(a.id)) this.#cut.add(a.id * 64 + b.id);
      }
    }
  }

  #deliverOne(): void {
    if (this.#inFlight.length === 0) return;
    const at = this.#random.below(this.#inFlight.length);
    const message = this.#inFlight[at]!;
    this.#inFlight[at] = this.#inFlight.at(-1)!;
    this.#inFlight.pop();
    if (this.#random.below(1000) < this.#settings.repeatPermille) this.#inFlight.push(message);
    this.#deliver(message);
  }

  #deliver(message: PeerMessage): void {
    const to = this.#replica(message.to);
    const lost =
      to.node === undefined ||
      this.#cut.has(message.from * 64 + message.to) ||
      (this.#chaos && this.#random.below(1000) < this.#settings.dropPermille);
    if (message.type === 'snapshot') {
      const from = this.#replica(message.from).node;
      if (lost) from?.reportSnapshot(message.to, 'failed');
      else this.#reports.push({ from: message.from, to: message.to });
    }
    if (lost) {
      if (this.#random.below(20) === 0) {
        this.#replica(message.from).node?.reportUnreachable(message.to);
      }
      return;
    }
    to.node!.step(message);
    this.#observe(to);
  }

  /** One live replica does one piece of the work that waits for it. */
  #workOne(): void {
    const live = this.#live();
    if (live.length === 0) return;
    const replica = this.#any(live);
    const kind = this.#random.below(4);
    if (kind < 2 && replica.node!.hasReady()) this.#processReady(replica);
    else if (kind === 2 && replica.appendWork.length > 0) this.#processAppend(replica);
    else if (replica.applyWork.length > 0) this.#processApply(replica);
    else if (replica.appendWork.length > 0) this.#processAppend(replica);
    else if (replica.node!.hasReady()) this.#processReady(replica);
  }

  #tickOne(): void {
    const live = this.#live();
    if (live.length === 0) return;
    const replica = this.#any(live);
    if (this.#settings.lease && replica.id === this.#stalled) return;
    replica.node!.tick();
    if (this.#random.below(2) === 0) replica.node!.sendLateAppends();
    this.#observe(replica);
  }

  #proposeOne(): void {
    const leader = this.#anyLeader();
    if (leader === undefined) return;
    const count = 1 + this.#random.below(3);
    leader.node!.propose(Array.from({ length: count }, () => this.#nextPayload()));
    this.#observe(leader);
  }

  #readOne(): void {
    const replica = this.#anyLeader();
    if (replica !== undefined) this.#readAt(replica);
  }

  #readAt(replica: Replica): void {
    const floor = this.#checker.committedMax;
    const number = replica.node!.requestRead();
    if (number !== undefined) replica.reads.push({ number, floor });
  }

  /** Time goes on, and whoever leads is asked at once: also who has been replaced and has not heard. */
  #leaseEvent(): void {
    this.#nowMs += this.#random.float();
    if (this.#random.below(100) === 0) {
      const replica = this.#any(this.#replicas);
      replica.underLease = !replica.underLease;
    }
    // a round takes much less than a lease
    for (let i = 0; i < 3; i++) {
      this.#deliverOne();
      this.#workOne();
    }
    if (this.#random.below(8) > 0) return;
    for (const replica of this.#live()) {
      if (replica.node!.role !== 'leader') continue;
      this.#readAt(replica);
      if (replica.node!.hasReady()) this.#processReady(replica);
    }
  }

  /** What an operator or the node above does: membership, transfer, compaction, … */
  #operateOne(): void {
    const live = this.#live();
    if (live.length === 0) return;
    const replica = this.#any(live);
    const kind = this.#random.below(12);
    if (kind < 4) this.#changeMembers();
    else if (kind < 6) this.#transfer();
    else if (kind < 10) this.#compact(replica);
    else if (kind === 10) replica.node!.campaign();
    else replica.node!.forgetLeader();
    this.#observe(replica);
  }

  #transfer(): void {
    const leader = this.#anyLeader();
    if (leader === undefined) return;
    const conf = leader.confs.at(-1)!.conf;
    leader.node!.transferLeader(this.#any(members(conf)));
  }

  #compact(replica: Replica): void {
    replica.appliedDurable = replica.applied;
    const first = replica.storage.firstIndex();
    const end = Math.min(replica.appliedDurable, replica.storage.lastIndex());
    if (end > first) replica.storage.compact(first + this.#random.below(end - first));
  }

  #changeMembers(): void {
    const leader = this.#anyLeader();
    if (leader === undefined) return;
    const change = this.#drawChange(leader.node!.status().confState);
    if (change === undefined) return;
    for (const { replica } of change.steps) {
      if (replica > this.#replicas.length) this.#add(replica, undefined);
    }
    leader.node!.proposeConfChange(change);
    this.#observe(leader);
  }

  #drawChange(conf: ConfState): ConfChange | undefined {
    if (conf.votersOutgoing.length > 0) {
      return { transition: 'auto', steps: [], context: NO_DATA };
    }
    const next = this.#replicas.length + 1;
    const adds: ConfChangeStep[] =
      next <= REPLICAS_MAX ? [{ kind: 'addLearner', replica: next }] : [];
    const promotes: ConfChangeStep[] = conf.learners.map((replica) => ({
      kind: 'addVoter',
      replica,
    }));
    const removes: ConfChangeStep[] =
      conf.voters.length > 2 ? [{ kind: 'remove', replica: this.#any(conf.voters) }] : [];
    const demotes: ConfChangeStep[] =
      conf.voters.length > 2 ? [{ kind: 'addLearner', replica: this.#any(conf.voters) }] : [];
    const all = [...adds, ...promotes, ...removes, ...demotes];
    if (all.length === 0) return undefined;
    const first = this.#any(all);
    const others = all.filter((step) => step.replica !== first.replica);
    const joint = others.length > 0 && this.#random.below(2) === 0;
    const steps = joint ? [first, this.#any(others)] : [first];
    const transition = joint && this.#random.below(3) === 0 ? 'explicit' : 'auto';
    return { transition, steps, context: NO_DATA };
  }

  #add(id: ReplicaId, snapshot: Snapshot | undefined): void {
    const storage = snapshot === undefined ? memoryStorage() : memoryStorage(snapshot);
    const applied = snapshot?.index ?? 0;
    const replica: Replica = {
      id,
      storage,
      node: undefined,
      appendWork: [],
      applyWork: [],
      applied,
      appliedDurable: applied,
      confs: [{ index: applied, conf: snapshot?.confState ?? EMPTY_CONF }],
      snapshotIndex: 0,
      view: new LogView(0, 0, []),
      commitSeen: 0,
      ledTerm: 0,
      reads: [],
      rate: 1 - DRIFT_MAX * this.#random.float(),
      wallAheadMs: 0,
      underLease: this.#random.below(4) > 0,
    };
    storage.provideSnapshot(() => this.#snapshotOf(replica));
    this.#replicas.push(replica);
    this.#start(replica);
  }

  #snapshotOf(replica: Replica): Snapshot | 'unavailable' {
    if (this.#chaos && this.#random.below(8) === 0) return 'unavailable';
    const term = replica.view.term(replica.applied);
    if (term === undefined || replica.applied === 0) return 'unavailable';
    const confState = replica.confs.at(-1)!.conf;
    return { index: replica.applied, term, confState, data: NO_DATA };
  }

  #start(replica: Replica): void {
    const { storage } = replica;
    const before = storage.initialState().hardState;
    storage.setConfState(replica.confs.at(-1)!.conf);
    const restarted = replica.view.last > 0;
    replica.node = createRaftNode(this.#configOf(replica, restarted));
    const base = storage.firstIndex() - 1;
    const held = storage.entries(base + 1, storage.lastIndex() + 1, Number.POSITIVE_INFINITY);
    if (held === 'compacted') throw new SafetyViolation('the log begins at its first index');
    const baseTerm = storage.term(base) as Term;
    replica.view = new LogView(
      base,
      baseTerm,
      held.map((entry) => entry.term),
    );
    const { hardState } = replica.node.status();
    this.#checker.sawHardState(replica.id, before, hardState);
    replica.commitSeen = base;
    this.#observe(replica);
  }

  #configOf(replica: Replica, restarted: boolean): RaftConfig {
    const settings = this.#settings;
    return {
      id: replica.id,
      storage: replica.storage,
      random: this.#random.fork(`replica ${replica.id}/${this.#random.u32()}`),
      electionTicks: settings.electionTicks,
      heartbeatTicks: 1,
      applied: replica.applied,
      asyncStorageWrites: settings.async,
      preVote: settings.preVote,
      checkQuorum: settings.checkQuorum,
      stepDownOnRemoval: true,
      lease: settings.lease ? this.#leaseOf(replica, restarted) : undefined,
      readFanout: settings.readFanout,
      appendFanout: settings.appendFanout,
      disableProposalForwarding: true,
      disableConfChangeValidation: false,
      messageBytesMax: settings.messageBytesMax,
      committedBytesMax: settings.committedBytesMax,
      uncommittedBytesMax: settings.uncommittedBytesMax,
      inflightMessagesMax: settings.inflightMessagesMax,
      inflightBytesMax: settings.messageBytesMax * settings.inflightMessagesMax,
    };
  }

  /** Clocks that drift, stand still and are set, as much as leases allow; ticks come as they like. */
  #leaseOf(replica: Replica, restarted: boolean): LeaseConfig {
    const promiseMs = PROMISE_MS;
    const monotonicMs = () => this.#nowMs * replica.rate;
    return {
      inUse: () => replica.underLease,
      monotonicMs,
      wallMs: () => monotonicMs() + replica.wallAheadMs,
      promiseMs,
      lengthMs: promiseMs * (1 - DRIFT_MAX) - JUMP_MS,
      jumpMs: JUMP_MS,
      promised: restarted,
    };
  }

  /** The process dies; of what it had handed to its disk a prefix survives. */
  #crash(replica: Replica): void {
    if (replica.node === undefined) return;
    const survives = this.#random.below(replica.appendWork.length + 1);
    for (const work of replica.appendWork.slice(0, survives)) {
      this.#persist(replica, work.hardState, work.entries, work.snapshot);
    }
    replica.appendWork = [];
    replica.applyWork = [];
    replica.node = undefined;
    replica.reads = [];
    const lag = replica.applied - replica.appliedDurable;
    replica.applied -= this.#random.below(lag + 1);
    // Applied is never ahead of the durable log: apply works on durable entries only.
    while (replica.confs.length > 1 && replica.confs.at(-1)!.index > replica.applied) {
      replica.confs.pop();
    }
  }

  #processReady(replica: Replica): void {
    const ready = replica.node!.ready();
    this.#noteReady(replica, ready);
    if (!this.#settings.async) {
      if (this.#chaos && this.#random.below(100) === 0) {
        this.#crash(replica);
        return;
      }
      this.#persist(replica, ready.hardState, ready.entries, ready.snapshot);
      this.#apply(replica, ready.committedEntries);
    }
    for (const message of ready.messages) {
      if (message.type === 'storageAppend') replica.appendWork.push(message);
      else if (message.type === 'storageApply') replica.applyWork.push(message);
      else this.#send(message as PeerMessage);
    }
    if (!this.#settings.async) replica.node!.advance();
    this.#observe(replica);
  }

  #noteReady(replica: Replica, ready: Ready): void {
    const { id, view, node } = replica;
    const { entries, snapshot } = ready;
    if (snapshot !== undefined) {
      view.restore(snapshot.index, snapshot.term);
      replica.commitSeen = Math.max(replica.commitSeen, snapshot.index);
    }
    if (entries.length > 0) {
      if (node!.role === 'leader' && replica.ledTerm === node!.term) {
        this.#checker.sawLeaderAppend(id, entries, view);
      }
      this.#checker.sawEntries(id, entries, view);
      view.replaceFrom(entries);
    }
    this.#observeCommit(replica);
    if (node!.role === 'leader' && replica.ledTerm !== node!.term) {
      replica.ledTerm = node!.term;
      this.#checker.sawNewLeader(id, node!.term, view);
    }
    for (const { readContext, index } of ready.readStates) {
      for (const read of replica.reads) {
        if (read.number <= readContext) this.#checker.sawRead(id, index, read.floor);
      }
      replica.reads = replica.reads.filter((read) => read.number > readContext);
    }
  }

  #processAppend(replica: Replica): void {
    const work = replica.appendWork.shift()!;
    this.#persist(replica, work.hardState, work.entries, work.snapshot);
    for (const response of work.responses) this.#respond(replica, response);
    this.#observe(replica);
  }

  #processApply(replica: Replica): void {
    const work = replica.applyWork.shift()!;
    this.#apply(replica, work.entries);
    for (const response of work.responses) this.#respond(replica, response);
    this.#observe(replica);
  }

  #respond(replica: Replica, response: Message): void {
    if (response.to === replica.id) replica.node!.step(response);
    else this.#send(response as PeerMessage);
  }

  #send(message: PeerMessage): void {
    if (message.type === 'voteResponse' && !message.reject) {
      this.#checker.sawVote(message.from, message.term, message.to);
    }
    this.#inFlight.push(message);
    if (this.#inFlight.length <= IN_FLIGHT_MAX) return;
    const [lost] = this.#inFlight.splice(this.#random.below(this.#inFlight.length), 1);
    if (lost?.type === 'snapshot') {
      this.#replica(lost.from).node?.reportSnapshot(lost.to, 'failed');
    }
  }

  #persist(
    replica: Replica,
    hardState: HardState | undefined,
    entries: readonly Entry[],
    snapshot: Snapshot | undefined,
  ): void {
    const { storage } = replica;
    if (hardState !== undefined) {
      this.#checker.sawHardState(replica.id, storage.initialState().hardState, hardState);
      storage.setHardState(hardState);
    }
    if (snapshot !== undefined) {
      storage.applySnapshot(snapshot);
      replica.applied = snapshot.index;
      replica.appliedDurable = snapshot.index;
      replica.snapshotIndex = snapshot.index;
      replica.confs = [{ index: snapshot.index, conf: snapshot.confState }];
    }
    storage.append(entries);
  }

  #apply(replica: Replica, entries: readonly Entry[]): void {
    for (const entry of entries) {
      // A snapshot may overtake what was handed out before it.
      if (entry.index <= replica.snapshotIndex) continue;
      if (entry.index !== replica.applied + 1) {
        throw new SafetyViolation(
          `replica ${replica.id} applies ${entry.index} after ${replica.applied}`,
        );
      }
      this.#checker.sawApplied(replica.id, entry);
      if (entry.kind !== 'normal') {
        // May ask for a snapshot: one of the state before this entry.
        const conf = replica.node!.applyConfChange(decodeConfChange(entry.data));
        replica.confs.push({ index: entry.index, conf });
      }
      replica.applied = entry.index;
    }
  }

  /** Looks at a replica after it did something. */
  #observe(replica: Replica): void {
    const { node } = replica;
    if (node === undefined) return;
    if (node.role !== 'leader') return;
    this.#checker.sawLeader(replica.id, node.term);
    this.#observeCommit(replica);
  }

  /** Only while the view is current: a follower's is after a Ready, a leader's always. */
  #observeCommit(replica: Replica): void {
    const { view } = replica;
    const node = replica.node!;
    const commit = Math.min(node.committed, view.last);
    if (commit <= replica.commitSeen) return;
    const news = commit > this.#checker.committedMax;
    this.#checker.sawCommit(replica.id, replica.commitSeen, commit, node.term, view);
    if (news && node.role === 'leader') this.#checkDurable(replica, commit);
    replica.commitSeen = commit;
  }

  /** The entry at the new commit index lies on the disks of a quorum. */
  #checkDurable(leader: Replica, index: LogIndex): void {
    const { confState } = leader.node!.status();
    const term = leader.view.term(index);
    const has = new Map<ReplicaId, boolean>();
    for (const { id, storage } of this.#replicas) {
      has.set(id, storage.firstIndex() > index || storage.term(index) === term);
    }
    this.#checker.sawDurable(leader.id, index, jointVote(confState, has) === 'won');
  }

  #nextPayload(): Uint8Array {
    return new Uint8Array(1 + this.#random.below(24));
  }

  #replica(id: ReplicaId): Replica {
    return this.#replicas[id - 1]!;
  }

  #live(): Replica[] {
    return this.#replicas.filter((replica) => replica.node !== undefined);
  }

  #anyLeader(): Replica | undefined {
    const leaders = this.#live().filter((replica) => replica.node!.role === 'leader');
    return leaders.length === 0 ? undefined : this.#any(leaders);
  }

  #any<T>(items: readonly T[]): T {
    return items[this.#random.below(items.length)]!;
  }
}
