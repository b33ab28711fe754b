/**
 * Drives a whole group step by step from the commands of an interaction file and prints what the
 * replicas do. The form is that of the public files; the last block of commands is our own, for
 * what those files do not cover.
 */
import type { Random } from '../../../src/common/random.ts';
import {
  decodeConfChange,
  encodeConfChange,
  LEAVE_JOINT,
} from '../../../src/datanode/raft/conf-change-codec.ts';
import type { RaftConfig } from '../../../src/datanode/raft/config.ts';
import type { LeaseConfig } from '../../../src/datanode/raft/lease.ts';
import {
  APPEND_THREAD,
  APPLY_THREAD,
  type ConfChange,
  type ConfState,
  type Entry,
  type HardState,
  type Message,
  type Snapshot,
} from '../../../src/datanode/raft/message.ts';
import { createRaftNode } from '../../../src/datanode/raft/raft.ts';
import type { RaftNode } from '../../../src/datanode/raft/ready.ts';
import { type MemoryStorage, memoryStorage } from '../../datanode/raft/memory-storage.ts';
import {
  type Argument,
  type Case,
  parseCommand,
  valueAt,
  valuesOf,
  wordsOf,
} from './datadriven.ts';
import {
  type DescribeOptions,
  describeEntry,
  describeMessage,
  describeProgress,
  describeReady,
  MESSAGE_NAMES,
  parseSteps,
  ROLE_NAMES,
  voterIds,
} from './describe.ts';
import { LEVELS, type Level, logLine } from './log-lines.ts';

type StorageAppend = Extract<Message, { type: 'storageAppend' }>;
type StorageApply = Extract<Message, { type: 'storageApply' }>;
type Settings = Omit<RaftConfig, 'id' | 'storage' | 'trace' | 'lease'> & {
  readonly leases: boolean;
};

interface Call {
  readonly words: readonly string[];
  readonly ids: readonly number[];
  readonly args: readonly Argument[];
  readonly input: readonly string[];
}

interface Member {
  readonly id: number;
  node: RaftNode;
  readonly storage: MemoryStorage;
  readonly settings: Settings;
  /** A snapshot per applied entry; the last one is what a follower is sent. */
  history: Snapshot[];
  appendWork: StorageAppend[];
  applyWork: StorageApply[];
}

const NO_LIMIT = Number.POSITIVE_INFINITY;
const MIB = 1_048_576;

/** Counters start at 0 and timeouts are the shortest: a transcript does not depend on chance. */
const noChance: Random = {
  u32: () => 0,
  below: () => 0,
  float: () => 0,
  hex: (count) => '00'.repeat(count),
  fork: () => noChance,
};

const DEFAULTS: Settings = {
  random: noChance,
  electionTicks: 3,
  heartbeatTicks: 1,
  applied: 0,
  asyncStorageWrites: false,
  preVote: false,
  checkQuorum: false,
  stepDownOnRemoval: false,
  leases: false,
  disableProposalForwarding: false,
  disableConfChangeValidation: false,
  messageBytesMax: NO_LIMIT,
  committedBytesMax: NO_LIMIT,
  uncommittedBytesMax: NO_LIMIT,
  inflightMessagesMax: 2 ** 31 - 1,
  inflightBytesMax: NO_LIMIT,
};

/** Replicas with the ids 1, 2, …, their messages in one queue, and the text they print. */
export class InteractionGroup {
  readonly #options: DescribeOptions;
  readonly #members: Member[] = [];
  #messages: Message[] = [];
  #output = '';
  #level: Level = 'DEBUG';
  /** The clock of each replica's leases: a millisecond per tick. */
  readonly #ticks = new Map<number, number>();

  constructor(options: DescribeOptions) {
    this.#options = options;
  }

  /** Runs one case. Returns what it prints, without the last line end. */
  run(test: Case): string {
    this.#output = '';
    try {
      this.#command(test.command, test.arguments, test.input);
      if (test.command !== 'propose-conf-change') {
        for (const line of test.input) {
          const { command, arguments: args } = parseCommand(line);
          this.#command(command, args, []);
        }
      }
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      if (this.#quiet) return error.message;
      this.#output += error.message;
    }
    return this.#output === '' ? 'ok' : this.#output.replace(/\n$/, '');
  }

  #command(command: string, args: readonly Argument[], input: readonly string[]): void {
    const handler = this.#handlers[command];
    if (handler === undefined) throw new CommandError('unknown command');
    const words = wordsOf(args);
    handler({ words, ids: words.map(Number), args, input });
  }

  readonly #handlers: Readonly<Record<string, (call: Call) => void>> = {
    _breakpoint: () => {},
    'log-level': ({ words }) => this.#setLevel(words[0]!),
    'add-nodes': ({ ids, args }) => this.#addNodes(ids[0]!, args),
    campaign: ({ ids }) => this.#node(ids).campaign(),
    propose: ({ ids, words }) => this.#propose(ids[0]!, 'normal', Buffer.from(words[1]!)),
    'propose-conf-change': ({ ids, args, input }) => this.#proposeConfChange(ids[0]!, args, input),
    'process-ready': ({ ids }) => this.#each(ids, 'handling Ready', (id) => this.#processReady(id)),
    'process-append-thread': ({ ids }) =>
      this.#each(ids, 'processing append thread', (id) => this.#processAppend(id)),
    'process-apply-thread': ({ ids }) =>
      this.#each(ids, 'processing apply thread', (id) => this.#processApply(id)),
    'deliver-msgs': ({ args }) => this.#deliverCommand(args),
    stabilize: ({ ids, args }) => this.#stabilizeCommand(ids, args),
    'tick-election': ({ ids }) => this.#tick(ids[0]!, this.#settings(ids).electionTicks),
    'tick-heartbeat': ({ ids }) => this.#tick(ids[0]!, this.#settings(ids).heartbeatTicks),
    'transfer-leadership': ({ args }) =>
      this.#member(Number(valueAt(args, 'from'))).node.transferLeader(Number(valueAt(args, 'to'))),
    'forget-leader': ({ ids }) => this.#node(ids).forgetLeader(),
    'report-unreachable': ({ ids }) => this.#node(ids).reportUnreachable(ids[1]!),
    'send-snapshot': ({ ids }) => this.#sendSnapshot(ids[0]!, ids[1]!),
    'set-randomized-election-timeout': ({ ids, args }) =>
      this.#node(ids).setRandomizedElectionTicks(Number(valueAt(args, 'timeout'))),
    'raft-log': ({ ids }) => this.#printLog(ids[0]!),
    compact: ({ ids }) => {
      this.#member(ids[0]!).storage.compact(ids[1]!);
      this.#printLog(ids[0]!);
    },
    'raft-state': () => this.#printStates(),
    status: ({ ids }) => this.#printStatus(ids[0]!),
    // Our own commands.
    tick: ({ ids }) => this.#tick(ids[0]!, ids[1]!),
    'read-index': ({ ids }) => this.#print(`read ${this.#node(ids).requestRead() ?? 'refused'}`),
    'read-index-from-leader': ({ ids }) =>
      this.#print(`read ${this.#node(ids).requestReadFromLeader() ?? 'refused'}`),
    'report-snapshot': ({ ids, args }) =>
      this.#node(ids).reportSnapshot(
        ids[1]!,
        valueAt(args, 'outcome') === 'failed' ? 'failed' : 'sent',
      ),
    'propose-refusal': ({ ids, words }) => {
      const result = this.#node(ids).propose(words.slice(1).map((word) => Buffer.from(word)));
      this.#print(result.ok ? `accepted ${result.term}/${result.index}` : result.refusal);
    },
    'propose-conf-change-refusal': ({ ids, words }) => {
      const change = { ...LEAVE_JOINT, steps: parseSteps(words.slice(1).join(' ')) };
      const result = this.#node(ids).proposeConfChange(change);
      this.#print(result.ok ? `accepted ${result.term}/${result.index}` : result.refusal);
    },
    restart: ({ ids, args }) => this.#restart(ids[0]!, args),
  };

  #node(ids: readonly number[]): RaftNode {
    return this.#member(ids[0]!).node;
  }

  #settings(ids: readonly number[]): Settings {
    return this.#member(ids[0]!).settings;
  }

  get #quiet(): boolean {
    return this.#level === 'NONE';
  }

  #write(text: string): void {
    if (!this.#quiet) this.#output += text;
  }

  #print(line: string): void {
    this.#write(`${line}\n`);
  }

  /** Everything that `run` prints is indented by two. */
  #indented(run: () => void): void {
    const before = this.#output;
    this.#output = '';
    run();
    const inner = this.#output.replace(/\n$/, '');
    const lines = inner === '' ? [] : inner.split('\n').map((line) => `  ${line}\n`);
    this.#output = before + lines.join('');
  }

  #setLevel(name: string): void {
    const level = LEVELS.find((each) => each === name.toUpperCase());
    if (level === undefined) throw new CommandError(`log levels must be one of ${LEVELS}`);
    this.#level = level;
  }

  #member(id: number): Member {
    const member = this.#members[id - 1];
    if (member === undefined) throw new Error(`there is no replica ${id}`);
    return member;
  }

  /** Runs for each id, with a header when there are several. */
  #each(ids: readonly number[], what: string, run: (id: number) => void): void {
    for (const id of ids) {
      if (ids.length === 1) {
        run(id);
      } else {
        this.#print(`> ${id} ${what}`);
        this.#indented(() => run(id));
      }
    }
  }

  #addNodes(count: number, args: readonly Argument[]): void {
    const settings = settingsFrom(args);
    const list = (key: string) => (valuesOf(args, key) ?? []).map(Number);
    const snapshot: Snapshot = {
      index: settings.applied,
      term: settings.applied > 0 ? 1 : 0,
      confState: confOf(list('voters'), list('learners')),
      data: Buffer.from(valueAt(args, 'content') ?? ''),
    };
    const empty = valuesOf(args, 'voters') === undefined && settings.applied === 0;
    if (!empty && snapshot.index <= 1) {
      throw new CommandError('index must be specified as > 1 due to bootstrap');
    }
    for (let i = 0; i < count; i++) {
      const id = this.#members.length + 1;
      const storage = empty ? memoryStorage() : memoryStorage(snapshot);
      const history = [snapshot];
      const member: Member = {
        id,
        node: this.#open(id, storage, settings),
        storage,
        settings,
        history,
        appendWork: [],
        applyWork: [],
      };
      storage.provideSnapshot(() => member.history.at(-1)!);
      this.#members.push(member);
    }
  }

  #ticksOf(id: number): number {
    return this.#ticks.get(id) ?? 0;
  }

  #leaseOf(id: number, electionTicks: number, restarted: boolean): LeaseConfig {
    const now = () => this.#ticksOf(id);
    const times = { promiseMs: electionTicks, lengthMs: electionTicks - 1, jumpMs: 0 };
    return { inUse: () => true, monotonicMs: now, wallMs: now, ...times, promised: restarted };
  }

  #open(id: number, storage: MemoryStorage, settings: Settings, restarted = false): RaftNode {
    const { leases, ...config } = settings;
    return createRaftNode({
      ...config,
      lease: leases ? this.#leaseOf(id, config.electionTicks, restarted) : undefined,
      id,
      storage,
      trace: (event) => {
        const { level, text } = logLine(id, event);
        if (LEVELS.indexOf(level) >= LEVELS.indexOf(this.#level)) this.#print(`${level} ${text}`);
      },
    });
  }

  /** The replica comes back with what its storage holds; what was not written is gone. */
  #restart(id: number, args: readonly Argument[]): void {
    const member = this.#member(id);
    const applied = Number(valueAt(args, 'applied') ?? member.history.at(-1)!.index);
    member.history = member.history.filter((snapshot) => snapshot.index <= applied);
    member.appendWork = [];
    member.applyWork = [];
    this.#messages = this.#messages.filter((message) => !(message.to === id && isLocal(message)));
    member.storage.setConfState(member.history.at(-1)!.confState);
    const leases = valueAt(args, 'leases') === 'true' && { leases: true, checkQuorum: true };
    const settings = { ...member.settings, ...leases, applied };
    member.node = this.#open(id, member.storage, settings, true);
  }

  #propose(id: number, kind: Entry['kind'], data: Uint8Array): void {
    const message = {
      type: 'propose',
      from: id,
      to: id,
      term: 0,
      entries: [{ kind, data }],
    } as const;
    this.#report(this.#member(id).node.step(message));
  }

  #report(result: ReturnType<RaftNode['step']>): void {
    if (result === 'proposal-dropped') throw new CommandError('raft proposal dropped');
  }

  #proposeConfChange(id: number, args: readonly Argument[], input: readonly string[]): void {
    const transition = (valueAt(args, 'transition') ?? 'auto') as ConfChange['transition'];
    const steps = parseSteps(input.join(' '));
    const single = valueAt(args, 'v1') === 'true';
    if (single && (steps.length > 1 || transition !== 'auto')) {
      throw new CommandError('v1 conf change can only have one operation and no transition');
    }
    const data = encodeConfChange({ transition, steps, context: new Uint8Array(0) });
    this.#propose(id, single ? 'confChange' : 'confChangeV2', data);
  }

  #processReady(id: number): void {
    const member = this.#member(id);
    const ready = member.node.ready();
    this.#write(describeReady(ready, this.#options));
    const async = member.settings.asyncStorageWrites;
    if (!async) {
      persist(member, ready.hardState, ready.entries, ready.snapshot);
      apply(member, ready.committedEntries);
    }
    for (const message of ready.messages) {
      if (message.type === 'storageAppend') member.appendWork.push(message);
      else if (message.type === 'storageApply') member.applyWork.push(message);
      else this.#messages.push(message);
    }
    if (!async) member.node.advance();
  }

  #processAppend(id: number): void {
    const member = this.#member(id);
    const work = member.appendWork.shift();
    if (work === undefined) {
      this.#write('no append work to perform');
      return;
    }
    this.#print('Processing:');
    this.#print(describeMessage({ ...work, responses: [] }, this.#options));
    persist(member, work.hardState, work.entries, work.snapshot);
    this.#respond(work.responses);
  }

  #processApply(id: number): void {
    const member = this.#member(id);
    const work = member.applyWork.shift();
    if (work === undefined) {
      this.#write('no apply work to perform');
      return;
    }
    this.#print('Processing:');
    this.#print(describeMessage({ ...work, responses: [] }, this.#options));
    apply(member, work.entries);
    this.#respond(work.responses);
  }

  #respond(responses: readonly Message[]): void {
    this.#print('Responses:');
    for (const message of responses) this.#print(describeMessage(message, this.#options));
    this.#messages.push(...responses);
  }

  #deliverCommand(args: readonly Argument[]): void {
    const name = valueAt(args, 'type');
    let count = 0;
    for (const argument of args) {
      if (argument.values.length === 0) count += this.#deliver(Number(argument.key), false, name);
      if (argument.key !== 'drop') continue;
      for (const id of argument.values) count += this.#deliver(Number(id), true, name);
    }
    if (count === 0) this.#print('no messages');
  }

  /** Delivers or drops what waits for `id`. Local messages are never dropped. */
  #deliver(id: number, drop: boolean, name: string | undefined): number {
    const matches = (message: Message) =>
      message.to === id &&
      !(drop && isLocal(message)) &&
      (name === undefined || MESSAGE_NAMES[message.type] === name);
    const chosen = this.#messages.filter(matches);
    this.#messages = this.#messages.filter((message) => !matches(message));
    for (const message of chosen) {
      this.#print(`${drop ? 'dropped: ' : ''}${describeMessage(message, this.#options)}`);
      if (drop) continue;
      const result = this.#member(id).node.step(message);
      if (result === 'unknown-peer') this.#print('raft: cannot step as peer not found');
      if (result === 'proposal-dropped') this.#print('raft proposal dropped');
    }
    return chosen.length;
  }

  #stabilizeCommand(ids: readonly number[], args: readonly Argument[]): void {
    const level = this.#level;
    const wanted = valueAt(args, 'log-level');
    if (wanted !== undefined) this.#setLevel(wanted);
    this.#stabilize(ids.length === 0 ? this.#members : ids.map((id) => this.#member(id)));
    this.#level = level;
  }

  #stabilize(members: readonly Member[]): void {
    let busy = true;
    const run = (member: Member, what: string, work: () => void) => {
      this.#print(`> ${member.id} ${what}`);
      this.#indented(work);
      busy = true;
    };
    while (busy) {
      busy = false;
      for (const member of members) {
        if (!member.node.hasReady()) continue;
        run(member, 'handling Ready', () => this.#processReady(member.id));
      }
      for (const member of members) {
        if (!this.#messages.some((message) => message.to === member.id)) continue;
        run(member, 'receiving messages', () => this.#deliver(member.id, false, undefined));
      }
      for (const member of members) {
        if (member.appendWork.length === 0) continue;
        run(member, 'processing append thread', () => {
          while (member.appendWork.length > 0) this.#processAppend(member.id);
        });
      }
      for (const member of members) {
        if (member.applyWork.length === 0) continue;
        run(member, 'processing apply thread', () => {
          while (member.applyWork.length > 0) this.#processApply(member.id);
        });
      }
    }
  }

  #tick(id: number, count: number): void {
    this.#ticks.set(id, this.#ticksOf(id) + count);
    for (let i = 0; i < count; i++) this.#member(id).node.tick();
  }

  #sendSnapshot(from: number, to: number): void {
    const member = this.#member(from);
    const snapshot = member.history.at(-1)!;
    const message = { type: 'snapshot', from, to, term: member.node.term, snapshot } as const;
    this.#messages.push(message);
    this.#write(describeMessage(message, this.#options));
  }

  #printLog(id: number): void {
    const { storage } = this.#member(id);
    const first = storage.firstIndex();
    const last = storage.lastIndex();
    if (last < first) {
      this.#write(`log is empty: first index=${first}, last index=${last}`);
      return;
    }
    const entries = storage.entries(first, last + 1, NO_LIMIT);
    if (entries === 'compacted') throw new Error('the log begins at its first index');
    for (const entry of entries) this.#print(describeEntry(entry));
  }

  #printStates(): void {
    for (const { id, node } of this.#members) {
      const { role, leader, hardState, confState } = node.status();
      const kind = voterIds(confState).includes(id) ? 'Voter' : 'Non-Voter';
      this.#print(`${id}: ${ROLE_NAMES[role]} (${kind}) Term:${hardState.term} Lead:${leader}`);
    }
  }

  #printStatus(id: number): void {
    for (const progress of this.#member(id).node.status().progress) {
      this.#print(`${progress.replica}: ${describeProgress(progress)}`);
    }
  }
}

/** An outcome that the transcript shows. */
class CommandError extends Error {
  override readonly name = 'CommandError';
}

function settingsFrom(args: readonly Argument[]): Settings {
  const text = (key: string) => valueAt(args, key);
  const flag = (key: string) => text(key) === 'true';
  const count = (key: string, missing: number) => Number(text(key) ?? missing);
  return {
    ...DEFAULTS,
    applied: count('index', 0),
    asyncStorageWrites: flag('async-storage-writes'),
    preVote: flag('prevote'),
    checkQuorum: flag('checkquorum'),
    stepDownOnRemoval: flag('step-down-on-removal'),
    leases: text('read-only') === 'lease-based',
    disableProposalForwarding: flag('disable-proposal-forwarding'),
    disableConfChangeValidation: flag('disable-conf-change-validation'),
    committedBytesMax: count('max-committed-size-per-ready', NO_LIMIT),
    inflightMessagesMax: count('inflight', DEFAULTS.inflightMessagesMax),
    // Our own.
    readFanout: text('read-fanout') === 'quorum' ? 'quorum' : 'all',
    electionTicks: count('election-ticks', DEFAULTS.electionTicks),
    messageBytesMax: count(
      'max-size-per-msg',
      text('inflight-bytes') === undefined ? NO_LIMIT : MIB,
    ),
    uncommittedBytesMax: count('max-uncommitted-size', NO_LIMIT),
    inflightBytesMax: count('inflight-bytes', NO_LIMIT),
  };
}

function confOf(voters: number[], learners: number[]): ConfState {
  return { voters, votersOutgoing: [], learners, learnersNext: [], autoLeave: false };
}

function isLocal({ from, to }: Message): boolean {
  const local = (id: number) => id === APPEND_THREAD || id === APPLY_THREAD;
  return from === to || local(from) || local(to);
}

function persist(
  { storage }: Member,
  hardState: HardState | undefined,
  entries: readonly Entry[],
  snapshot: Snapshot | undefined,
): void {
  if (hardState !== undefined) storage.setHardState(hardState);
  if (snapshot === undefined) {
    storage.append(entries);
    return;
  }
  if (entries.length > 0) {
    throw new CommandError("can't apply snapshot and entries at the same time");
  }
  storage.applySnapshot(snapshot);
}

/** The state machine appends what it applies; a snapshot is kept after every entry. */
function apply(member: Member, entries: readonly Entry[]): void {
  for (const entry of entries) {
    const last = member.history.at(-1)!;
    let update: Uint8Array = entry.data;
    let { confState } = last;
    if (entry.kind !== 'normal') {
      const change = decodeConfChange(entry.data);
      update = change.context;
      confState = member.node.applyConfChange(change);
    }
    member.history.push({
      index: entry.index,
      term: entry.term,
      confState,
      data: Buffer.concat([last.data, update]),
    });
  }
}
