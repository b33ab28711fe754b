/** Deliberate bugs of what a node tells, and of whom it takes itself for. */
import type { Mutation } from './mutations.ts';

const functions = 'src/datanode/commands/functions';

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
];
