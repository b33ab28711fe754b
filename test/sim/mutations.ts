/**
 * Deliberate bugs of the core, one at a time: each must be caught, else the simulator proves
 * nothing. A mutation is an edit of the product's source, applied to a copy of the build.
 */
import { memoryMutations } from './memory-mutations.ts';
import { nodeMutations } from './node-mutations.ts';
import type { RunPlan } from './plan.ts';
import { sdkMutations } from './sdk-mutations.ts';

export interface Mutation {
  readonly name: string;
  /** Plans of other kinds come too seldom near it. */
  readonly about?: RunPlan['about'];
  /** Scenarios whose names begin like one of these object. */
  readonly scenarios?: readonly string[];
  /** They are played before any seed. */
  readonly scripted?: boolean;
  /** Of the raft core, and no message chaos against the core alone can show it. */
  readonly wholeNodes?: boolean;
  /** Looked for where clients of the SDK that give nothing up are all there is. */
  readonly patient?: boolean;
  readonly edits: readonly {
    readonly file: string;
    readonly find: string;
    readonly replace: string;
  }[];
}

const raft = 'src/datanode/raft';
const raftlog = 'src/datanode/raftlog';
const partition = 'src/datanode/partition';
const engine = 'src/datanode/engine';
const encoding = 'src/datanode/encoding';
const commands = 'src/datanode/commands';
const server = 'src/datanode/server';
const routing = 'src/datanode/routing';

export const mutations: readonly Mutation[] = [
  {
    name: 'forget after a crash that a large write has happened',
    edits: [
      {
        file: `${engine}/large-write.ts`,
        find: 'if (mark === undefined) return removeRecords(store, batch);',
        replace:
          "if (mark !== undefined) await batch([{ type: 'del', key: REDO_MARK }]); return removeRecords(store, batch);",
      },
    ],
  },
  {
    name: 'let readers see the parts of a large write',
    edits: [
      {
        file: `${engine}/large-write.ts`,
        find: 'this.#shown = shown;',
        replace: '',
      },
    ],
  },
  {
    name: 'carry a large write out without a mark',
    edits: [
      {
        file: `${engine}/large-write.ts`,
        find: 'await batch([encodeMark(records)]);',
        replace: '',
      },
    ],
  },
  {
    name: 'skip the fsync of the raft log',
    scenarios: ['nats: what was acknowledged', 'etcd #14140'],
    edits: [
      {
        file: `${raftlog}/shared-log.ts`,
        find: 'this.#watch.timed(file.pwriteSynced(batch.place.offset, bytes))',
        replace: 'file.pwrite(batch.place.offset, bytes)',
      },
    ],
  },
  {
    name: 'acknowledge before the batch is durable',
    scenarios: ['etcd #14370', 'nats: what was acknowledged'],
    edits: [
      {
        file: `${raftlog}/shared-log.ts`,
        find: "      doing = 'writing';",
        replace: '      for (const run of batch.onDurable.splice(0)) run();',
      },
    ],
  },
  {
    name: 'forget what was left for later',
    edits: [
      {
        file: `${raft}/replication.ts`,
        find: 'const lacks = progress.next <= core.log.lastIndex();',
        replace: 'const lacks = false; if (progress.next <= core.log.lastIndex()) continue;',
      },
    ],
  },
  {
    name: 'commit entries of older terms by counting',
    edits: [
      {
        file: `${raft}/log.ts`,
        find: 'if (term === 0 || this.termOrZero(index) !== term) return false;',
        replace: 'if (term === 0) return false;',
      },
    ],
  },
  {
    name: 'believe what is committed without looking at the entry',
    scenarios: ['redis-raft #53'],
    edits: [
      {
        file: `${raft}/candidate.ts`,
        find: '!core.log.maybeCommit(commit, commitTerm)',
        replace: '(core.log.commitTo(Math.min(commit, core.log.lastIndex())), false)',
      },
    ],
  },
  {
    name: 'append entries without looking at the one before them',
    scenarios: ['redis-raft #51', 'redis-raft #53'],
    edits: [
      {
        file: `${raft}/log.ts`,
        find: 'if (!this.matches(index, term)) return undefined;',
        replace: 'if (index > this.lastIndex()) return undefined;',
      },
    ],
  },
  {
    name: 'lead without an entry of the own term',
    scenarios: ['redis-raft #18 #19'],
    edits: [
      {
        file: `${raft}/leader.ts`,
        find: "const refusal = appendProposed(core, [{ kind: 'normal', data: NO_DATA }]);",
        replace: 'const refusal = undefined;',
      },
      {
        file: `${raft}/core.ts`,
        find: 'return core.log.termOrZero(core.log.committed) === core.term;',
        replace: 'return true;',
      },
    ],
  },
  {
    name: 'vote twice after a restart',
    edits: [
      {
        file: `${partition}/storage/replica-storage.ts`,
        find: 'hardState: { ...hardState, commit }',
        replace: 'hardState: { ...hardState, vote: 0, commit }',
      },
      {
        file: `${raftlog}/part.ts`,
        find: 'assert(mayVote, ',
        replace: 'assert(true, ',
      },
    ],
  },
  {
    name: 'forget the saved commit index',
    scenarios: ['redis-raft #18: everything', 'redis-raft #52'],
    edits: [
      {
        file: `${partition}/storage/replica-storage.ts`,
        find: 'const commit = Math.max(hardState.commit, this.#initial.index);',
        replace: 'const commit = this.#initial.index;',
      },
    ],
  },
  {
    name: 'apply before commit',
    scenarios: ['redpanda: a read', 'redis-raft #23'],
    edits: [
      {
        file: `${raft}/log.ts`,
        find: "last <= this.#committed && last > this.#applying, 'only",
        replace: "true, 'only",
      },
      {
        file: `${raft}/log.ts`,
        find: 'index <= this.#committed && index >= this.#applied,',
        replace: 'true,',
      },
      {
        file: `${raft}/log.ts`,
        find: 'return Math.min(this.#committed, this.unstable.offset - 1);',
        replace: 'return this.unstable.offset - 1;',
      },
    ],
  },
  {
    name: 'forget the members in a snapshot',
    scenarios: ['redis-raft #44: members'],
    edits: [
      {
        file: `${partition}/snapshots/snapshot-outbox.ts`,
        find: 'const snapshot = { index, term, confState, data: Buffer.alloc(0) };',
        replace:
          'const none = { voters: [], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };' +
          'const snapshot = { index, term, confState: none, data: Buffer.alloc(0), was: confState };',
      },
    ],
  },
  {
    name: 'give a wiped voter its old id again',
    scenarios: ['rethinkdb: a wiped', 'redis-raft: messages', 'tigerbeetle: a node'],
    edits: [
      {
        file: `${partition}/members/roster.ts`,
        find: 'return replica.node === node && replica.incarnation === incarnation;',
        replace: 'return replica.node === node || replica.incarnation === incarnation;',
      },
    ],
  },
  {
    name: 'read under a lease that has ended',
    scenarios: ['etcd 2014: a lease', 'others: a clock'],
    edits: [
      {
        file: `${raft}/lease.ts`,
        find: 'return passedMs < lease.lengthMs;',
        replace: 'return true;',
      },
    ],
  },
  {
    name: 'count answers without a promise for a lease',
    about: 'leases',
    edits: [
      {
        file: `${raft}/read-index.ts`,
        find: 'if (promised) this.#promises.set(from, readContext);',
        replace: 'this.#promises.set(from, readContext);',
      },
    ],
  },
  {
    name: 'let a restarted voter vote under a lease',
    scenarios: ['etcd 2014: a voter'],
    about: 'leases',
    edits: [
      {
        file: `${raft}/core.ts`,
        find: 'promiseAnew(core);',
        replace: '',
      },
    ],
  },
  {
    name: 'forget over a restart that a vote may be promised',
    scenarios: ['etcd 2014: a voter'],
    about: 'leases',
    edits: [
      {
        file: `${partition}/replica/open-replica.ts`,
        find: 'promised: notes.mayPromise(id)',
        replace: 'promised: false',
      },
    ],
  },
  {
    name: 'count any answer of a node for every read round',
    scenarios: ['etcd #20418'],
    wholeNodes: true,
    edits: [
      {
        file: `${raft}/read-index.ts`,
        find: 'this.#answers.set(from, readContext);',
        replace: 'this.#answers.set(from, this.#counter);',
      },
      {
        file: `${raft}/leader.ts`,
        find: 'if (readContext === 0) return;',
        replace: '',
      },
      {
        file: `${raft}/read-index.ts`,
        find: 'if (readContext > this.#counter || readContext <= (this.#answers.get(from) ?? 0)) return [];',
        replace: '',
      },
    ],
  },
  {
    name: 'compact the log past the synced index',
    scenarios: ['etcd #13766', 'others: a snapshot'],
    edits: [
      {
        file: `${partition}/storage/compaction.ts`,
        find: 'let target = Math.min(syncedIndex, last - kept);',
        replace: 'let target = last - kept;',
      },
    ],
  },
  {
    name: 'open a LevelDB with a gap in its log',
    edits: [
      {
        file: `${engine}/verify.ts`,
        find: 'const logs = await cutLogs(disk, path, names, manifest);',
        replace: 'const logs = nothingCut;',
      },
    ],
  },
  {
    name: 'follow the wall clock of the leader’s host',
    scenarios: ['others: one clock takes all deadlines along'],
    edits: [
      {
        file: `${partition}/storage/group-time.ts`,
        find: 'const wall = this.#boundedWallMs();',
        replace: 'const wall = this.#clock.wallMs();',
      },
    ],
  },
  {
    name: 'take no notice of the times of entries that are logged',
    about: 'deadlines',
    edits: [
      {
        file: `${partition}/replica/effects.ts`,
        find: 'time.observeEntries(work.entries);',
        replace: '',
      },
    ],
  },
  {
    name: 'judge expiry by the local clock',
    scenarios: ['others: expired keys'],
    scripted: true,
    edits: [
      {
        file: `${partition}/replica/requests.ts`,
        find: 'new Reads({ draw, ...ground }, share)',
        replace:
          'new Reads({ draw, ...ground, ' +
          'nowMs: () => ground.clock.wallMs(), expirySettled: () => true }, share)',
      },
    ],
  },
  {
    name: 'tell the core of entries before the snapshot they follow',
    about: 'snapshots',
    edits: [
      {
        file: `${partition}/storage/log-writer.ts`,
        find: 'if (this.#behindSwitch === undefined) run();',
        replace: 'if (true) run();',
      },
    ],
  },
  {
    name: 'write the last batch again without a copy of it',
    edits: [
      {
        file: `${raftlog}/recovery.ts`,
        find: 'await saveTailCopy(disk, dir, { segment: segment.number, offset, bytes });',
        replace: '',
      },
    ],
  },
  {
    name: 'sync an engine without padding its log',
    edits: [
      {
        file: `${engine}/level-sync.ts`,
        find: "[{ type: 'del', key: Buffer.alloc(512) }]",
        replace: '[]',
      },
    ],
  },
  {
    name: 'sync an engine without what was written behind',
    edits: [
      {
        file: `${engine}/write-behind.ts`,
        find: 'if (this.#waiting.length > 0) await this.write([]);\n    await this.#writes.flush();',
        replace: '',
      },
    ],
  },
  {
    name: 'lose sight of what is on its way into an engine',
    edits: [
      {
        file: `${engine}/pending-writes.ts`,
        find: 'this.#layers = [this.#sealed];',
        replace: 'this.#layers = NOTHING;',
      },
    ],
  },
  {
    name: 'write behind a large write before it',
    edits: [
      {
        file: `${engine}/write-behind.ts`,
        find: 'await this.#writes.flush();\n    if (work.kind',
        replace: 'if (work.kind',
      },
    ],
  },
  {
    name: 'let WATCH overlook a write on its way',
    edits: [
      {
        file: `${partition}/waiting/watches.ts`,
        find: 'if (touched.size > 0) countInFlight(touched, results);',
        replace: '',
      },
    ],
  },
  {
    name: 'apply by the clock of the host',
    scenarios: ['others: expired keys'],
    edits: [
      {
        file: `${partition}/applying/applier.ts`,
        find: 'this.#pace = hooks.pace ?? new Pace(clock);',
        replace: 'this.#pace = hooks.pace ?? new Pace(clock); this.host = clock;',
      },
      {
        file: `${partition}/applying/applier.ts`,
        find: 'return applyContext(envelope, timeMs, {',
        replace: 'return applyContext(envelope, this.host.wallMs(), {',
      },
    ],
  },
  {
    name: 'apply by the locale of the host',
    about: 'types',
    edits: [
      {
        file: `${partition}/replica/replica-parts.ts`,
        find: "mayGather: () => this.raft.role === 'follower' && this.#isIdle(),",
        replace:
          "mayGather: () => this.raft.role === 'follower' && this.#isIdle(), " +
          "collate: new Intl.Collator(['en', 'sv', 'da'][this.#id % 3]).compare,",
      },
      {
        file: `${partition}/applying/applier.ts`,
        find: 'share: this.#share, pace: this.#pace, effects });',
        replace:
          'share: { ...this.#share, collate: this.#hooks.collate }, pace: this.#pace, effects });',
      },
      {
        file: `${partition}/applying/apply-context.ts`,
        find: 'const own = { firstSlot,',
        replace: 'const own = { collate: share.collate, firstSlot,',
      },
      {
        file: `${commands}/keys/sort.ts`,
        find: 'const compare = comparison(sorts);',
        replace:
          'const compare = sorts.alphabetic && context.collate ' +
          '? (a, b) => context.collate(String(a.text), String(b.text)) : comparison(sorts);',
      },
    ],
  },
  {
    name: 'draw members by the random of the host',
    about: 'types',
    edits: [
      {
        file: `${partition}/replica/replica-parts.ts`,
        find: "mayGather: () => this.raft.role === 'follower' && this.#isIdle(),",
        replace:
          "mayGather: () => this.raft.role === 'follower' && this.#isIdle(), random: this.#world.random,",
      },
      {
        file: `${partition}/applying/applier.ts`,
        find: 'share: this.#share, pace: this.#pace, effects });',
        replace:
          'share: { ...this.#share, random: this.#hooks.random }, pace: this.#pace, effects });',
      },
      {
        file: `${partition}/applying/apply-context.ts`,
        find: 'const random = seededRandom(seed);',
        replace: 'const random = share.random ?? seededRandom(seed);',
      },
    ],
  },
  {
    name: 'send a write again of which nobody knows what it did',
    scenarios: ['gateways: nobody'],
    scripted: true,
    edits: [
      {
        file: `${server}/lane.ts`,
        find: "return outcome === 'not-proposed' || (item",
        replace: "return outcome === 'not-proposed' || outcome === 'unknown' || (item",
      },
    ],
  },
  {
    name: 'take an entry that is not applied yet for one that never will be',
    scenarios: ['gateways: the replica'],
    scripted: true,
    edits: [
      {
        file: `${partition}/applying/recent-entries.ts`,
        find: "return last.term > term ? { kind: 'never' } : { kind: 'open' };",
        replace: "return { kind: 'never' };",
      },
    ],
  },
  {
    name: 'tell clients of gateways that nobody knows what became of their writes',
    scenarios: ['gateways: the replica', 'gateways: what the others'],
    scripted: true,
    edits: [
      {
        file: `${server}/connection.ts`,
        find: 'if (!ends || this.#stream.isClosed) return this.#stream.settle(slot, reply);',
        replace: 'return this.#stream.settle(slot, reply);',
      },
      {
        file: `${routing}/router.ts`,
        find: 'return this.#lost.find(batch, results);',
        replace: 'return results;',
      },
    ],
  },
  {
    name: 'take the word of one voter for that of a quorum',
    scenarios: ['gateways: a leader that stood still'],
    scripted: true,
    edits: [
      {
        file: `${raft}/replication.ts`,
        find: "return jointVote(core.tracker.conf, answered) === 'won' ? core.log.committed : undefined;",
        replace: 'return answered.size > 0 ? core.log.committed : undefined;',
      },
    ],
  },
  {
    name: 'forward an EXEC in one batch with the commands of others',
    scenarios: ['gateways: an EXEC'],
    scripted: true,
    edits: [
      {
        file: `${routing}/short-writes.ts`,
        find: 'if (!shortWrites.has(name)) return false;',
        replace: "if (!shortWrites.has(name) && name !== 'exec') return false;",
      },
      {
        file: `${partition}/waiting/watches.ts`,
        find: "assert(batch.lines.length === 1 || !batch.lines.some(execWithin), 'an EXEC comes alone');",
        replace: '',
      },
    ],
  },
  {
    name: 'serve a waiter twice',
    edits: [
      {
        file: `${partition}/applying/serving.ts`,
        find: 'if (form === undefined || findServed(this.#txn, waiter.id) !== undefined) continue;',
        replace: 'if (form === undefined) continue;',
      },
    ],
  },
  {
    name: 'pop for a waiter outside the entry',
    edits: [
      {
        file: `${partition}/waiting/waiters.ts`,
        find: 'const kept = ground.keptReply(waiter.id);',
        replace: 'const kept = ground.keptReply(waiter.id) ?? ground.popNow(waiter.request.line);',
      },
      {
        file: `${partition}/replica/requests.ts`,
        find: "import { findServed } from '../../encoding/sessions/served.ts';",
        replace:
          "import { findServed } from '../../encoding/sessions/served.ts';" +
          "import { Txn } from '../../encoding/txn/txn.ts';" +
          "import { resolveCommand } from '../../commands/table/table.ts';" +
          "import { encodeReply } from '../../resp/encode-reply.ts';",
      },
      {
        file: `${partition}/replica/requests.ts`,
        find: 'keptReply: (id) => findServed(createView(engine()), id),',
        replace:
          'keptReply: (id) => findServed(createView(engine()), id), popNow: (line) => {' +
          'const txn = new Txn(engine()); txn.beginEntry(ground.appliedIndex());' +
          'const prepared = resolveCommand(line).prepare(line);' +
          'const reply = prepared.run(txn, { nowMs: nowMs(), random: () => 0, ...slots });' +
          "if (!reply.kind || reply.kind.startsWith('null')) return undefined;" +
          'void engine().write(txn.operations()); return encodeReply(reply, 2); },',
      },
    ],
  },
  {
    name: 'serve those who wait only at the end of an entry',
    about: 'queues',
    edits: [
      {
        file: `${partition}/applying/apply-serving.ts`,
        find: 'replies.push(reply);\n    if (serving.hasFilled) await serving.serveFilled();',
        replace: 'replies.push(reply);',
      },
    ],
  },
  {
    name: 'apply a repeated sequence again',
    scenarios: ['redpanda: a numbered', 'others: INCR'],
    edits: [
      {
        file: `${encoding}/sessions/sessions.ts`,
        find: "if (reply !== undefined) return { kind: 'kept', reply };",
        replace: "if (reply !== undefined) return { kind: 'new' };",
      },
    ],
  },
  {
    name: 'answer at a follower without a proof of its age',
    about: 'followers',
    edits: [
      {
        file: `${partition}/reading/follower-reads.ts`,
        find: '(ageMs <= maxAgeMs || proof.sentMs >= arrivedMs) && (singlePoint',
        replace: '(singlePoint',
      },
    ],
  },
  {
    name: 'judge at a follower by a time that no entry has',
    about: 'deadlines',
    edits: [
      {
        file: `${partition}/upkeep/expiry.ts`,
        find: 'return Math.max(appliedTimeMs(), Math.min(nowMs(), this.#boundMs - 1));',
        replace: 'return Math.max(appliedTimeMs(), nowMs());',
      },
    ],
  },
  {
    name: 'answer a read before the deadline that it passes is committed',
    scenarios: ['others: a key that was gone'],
    scripted: true,
    edits: [
      {
        file: `${partition}/reading/reads.ts`,
        find: 'if (this.#ground.expirySettled(nowMs)) return nowMs;',
        replace: 'return nowMs;',
      },
    ],
  },
  {
    name: 'let a group that was given up serve before its nodes can know',
    scenarios: ['operations: the lost'],
    scripted: true,
    edits: [
      {
        file: `${partition}/members/return-hold.ts`,
        find: 'if (this.#current) return;',
        replace: 'return;',
      },
    ],
  },
  {
    name: 'answer that nothing happened where nobody knows',
    scenarios: ['gateways: nobody'],
    scripted: true,
    edits: [
      {
        file: `${server}/lane.ts`,
        find: 'const { outcome, reply } = errorTable[result.code];',
        replace:
          'const { outcome, reply: own } = errorTable[result.code];' +
          "const reply = outcome === 'refused' ? own : 'CLUSTERDOWN';",
      },
    ],
  },
  {
    name: 'answer reads of a leader without asking anybody',
    scenarios: ['consul'],
    scripted: true,
    edits: [
      {
        file: `${raft}/replication.ts`,
        find: 'core.tracker.isSingleton(core.id) || leaseHolds(core)',
        replace: 'true',
      },
    ],
  },
  {
    name: 'write the wanted table without being master',
    scenarios: ['etcd 3.4.3'],
    scripted: true,
    edits: [
      {
        file: 'src/placedriver/wanted-changes.ts',
        find: '[fence, ...unchanged, ...untold, ...switchesFor(controlRevision, group)],',
        replace: '[...unchanged, ...untold, ...switchesFor(controlRevision, group)],',
      },
    ],
  },
  {
    name: 'count a learner in the place of a voter',
    scenarios: ['others: a learner'],
    scripted: true,
    edits: [
      {
        file: `${raft}/tracker.ts`,
        find: 'return jointCommitted(this.#conf, this.#match);',
        replace:
          'const { voters, learners } = this.#conf;' +
          'const some = [...learners, ...voters].slice(0, voters.length);' +
          'return jointCommitted({ ...this.#conf, voters: some }, this.#match);',
      },
    ],
  },
  {
    name: 'move a replica without a learner',
    scenarios: ['dgraph: a shard'],
    scripted: true,
    edits: [
      {
        file: `${partition}/members/membership-plan.ts`,
        find: "if (missing !== undefined) return change([{ kind: 'addLearner', replica: missing }]);",
        replace:
          "if (missing !== undefined) return change([{ kind: 'addVoter', replica: missing }]);",
      },
    ],
  },
  ...memoryMutations,
  ...nodeMutations,
  ...sdkMutations,
];
