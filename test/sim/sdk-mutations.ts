/** Deliberate bugs of the client SDK, as those of `mutations.ts`. */
import type { Mutation } from './mutations.ts';

const sdk = 'src/sdk';

export const sdkMutations: readonly Mutation[] = [
  {
    name: 'SDK: send a write again without a session when its outcome is unknown',
    about: 'sdk',
    edits: [
      {
        file: `${sdk}/retry.ts`,
        find: "if (outcome === 'unknown' && effect === 'write') return fail('OUTCOME_UNKNOWN');",
        replace: '',
      },
    ],
  },
  {
    name: 'SDK: send a write again under another session',
    about: 'sdk',
    scenarios: ['others: INCR'],
    edits: [
      {
        file: `${sdk}/call.ts`,
        find: 'if (decision.newSession && this.#ticket !== undefined) {',
        replace: 'if (this.#ticket !== undefined) {',
      },
    ],
  },
  {
    name: 'SDK: use a number of a session for another command',
    about: 'sdk',
    edits: [
      {
        file: `${sdk}/sessions.ts`,
        find: 'const sequence = this.#next++;',
        replace: 'const sequence = this.#unanswered.size > 0 ? this.#next++ : this.#next;',
      },
    ],
  },
  {
    name: 'SDK: let groups drop replies that have not arrived',
    about: 'sdk',
    edits: [
      {
        file: `${sdk}/sessions.ts`,
        find: 'return lowest ?? this.#next;',
        replace: 'return lowest === undefined ? this.#next : this.#next - 1;',
      },
    ],
  },
  {
    name: 'SDK: do the transaction of a watch again, whatever the log says of it',
    patient: true,
    edits: [
      {
        file: `${sdk}/watch.ts`,
        find: 'const isOwn = Array.isArray(told.reply) && told.reply.length > 0;',
        replace: 'const isOwn = false;',
      },
    ],
  },
];
