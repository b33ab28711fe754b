/** Deliberate bugs of what a node tells, and of whom it takes itself for. */
import type { Mutation } from './mutations.ts';

const functions = 'src/datanode/commands/functions';
const tracking = 'src/datanode/tracking';

export const nodeMutations: readonly Mutation[] = [
  {
    name: 'tell the time left by a clock of whole seconds',
    about: 'types',
    edits: [
      {
        file: 'src/datanode/commands/keys/expiry.ts',
        find: 'deadlineReply((deadlineMs, nowMs) => deadlineMs - nowMs)',
        replace: 'deadlineReply((deadlineMs, nowMs) => deadlineMs - nowMs + (nowMs % 1_000))',
      },
    ],
  },
  {
    name: 'take an older copy of a data directory for the newest',
    scenarios: ['others: an older copy'],
    scripted: true,
    edits: [
      {
        file: 'src/datanode/coordinator/life.ts',
        find: 'if (life !== undefined && life < known) throw',
        replace: 'if (false) throw',
      },
    ],
  },
  {
    name: 'send what is on its way once more',
    scenarios: ['others: large entries'],
    scripted: true,
    edits: [
      {
        file: 'src/datanode/transport/peer.ts',
        find: 'if (append !== undefined && this.#onTheWay.covers(group, append)) return;',
        replace: '',
      },
      {
        file: 'src/datanode/transport/on-the-way.ts',
        find: 'return this.#ranges.size > 0 && this.#ranges.has(group);',
        replace: 'return false;',
      },
    ],
  },
  {
    name: 'send heartbeats where nothing large comes through',
    scenarios: ['others: a leader whose large entries'],
    scripted: true,
    edits: [
      {
        file: 'src/datanode/transport/on-the-way.ts',
        find: "type !== 'append' && type !== 'heartbeat'",
        replace: "type !== 'append'",
      },
    ],
  },
  {
    name: 'call a function in the machine of the call before',
    about: 'types',
    edits: [
      {
        file: `${functions}/function-call.ts`,
        find: 'const { machine, functions } = yield* loadForCall(proto, context);',
        replace:
          'globalThis.kept ??= new WeakMap(); const before = globalThis.kept.get(proto); ' +
          'const { machine, functions } = before ?? (yield* loadForCall(proto, context)); ' +
          'globalThis.kept.set(proto, { machine, functions });',
      },
    ],
  },
  {
    name: 'keep quiet about what was missed when the leader changed',
    about: 'caching',
    scenarios: ['caching: a leader dies', 'caching: a leader stands still'],
    edits: [
      {
        file: `${tracking}/change-feed.ts`,
        find: 'if (answer.anew) this.#world.onMissed(this, this.#provenMs !== undefined);',
        replace: '',
      },
    ],
  },
  {
    name: 'believe for good what a leader has told once',
    scenarios: ['caching: a leader and its clients', 'caching: a gateway hears'],
    scripted: true,
    edits: [
      {
        file: `${tracking}/change-feed.ts`,
        find: 'return provenMs !== undefined && clock.monotonicMs() - provenMs < limits.trackingProofMs;',
        replace: 'return provenMs !== undefined;',
      },
    ],
  },
  {
    name: 'keep quiet about a partition that is gone',
    scenarios: ['caching: a namespace'],
    scripted: true,
    edits: [
      {
        file: `${tracking}/hub.ts`,
        find: 'if (isGone) this.#forget(feed);',
        replace: 'if (isGone) this.#forget.length;',
      },
    ],
  },
  {
    name: 'tell of a change by the entry before it',
    about: 'caching',
    edits: [
      {
        file: 'src/datanode/partition/replica/followed.ts',
        find: 'index: entries.at(-1)!.index,',
        replace: 'index: entries[0]!.index - 1,',
      },
    ],
  },
];
