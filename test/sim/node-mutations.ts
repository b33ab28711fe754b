/** Deliberate bugs of what a node tells, and of whom it takes itself for. */
import type { Mutation } from './mutations.ts';

export const nodeMutations: readonly Mutation[] = [
  {
    name: 'tell the time left by a clock of whole seconds',
    about: 'types',
    edits: [
      {
        file: 'src/datanode/commands/expiry.ts',
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
];
