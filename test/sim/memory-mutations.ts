/** Deliberate bugs of what a node remembers of its engines, as those of `mutations.ts`. */
import type { Mutation } from './mutations.ts';

const partition = 'src/datanode/partition';

export const memoryMutations: readonly Mutation[] = [
  {
    name: 'answer from what was read of a collection before it was written',
    about: 'types',
    edits: [
      {
        file: `${partition}/remembering/hot-engines.ts`,
        find: 'else for (const { key } of operations) this.hot.changed(key);',
        replace: '',
      },
    ],
  },
  {
    name: 'forget keys that are put while an engine is looked through',
    scenarios: ['others: keys come'],
    edits: [
      {
        file: `${partition}/remembering/known-keys.ts`,
        find: "if (added === 'full' || this.#next?.add(key) === 'full') this.#drop();",
        replace: "if (added === 'full') this.#drop();",
      },
    ],
  },
  {
    name: 'take an engine that was opened for an empty one',
    edits: [
      {
        file: `${partition}/remembering/known-keys.ts`,
        find: 'if (isEmpty) this.#complete',
        replace: 'this.#complete',
      },
    ],
  },
  {
    name: 'remember a string that was deleted',
    edits: [
      {
        file: `${partition}/remembering/known-records.ts`,
        find: 'else if (!isNew) this.#plain.remove(this.#engine, key);\n    const integer',
        replace: 'const integer',
      },
    ],
  },
  {
    name: 'remember a key in two places',
    edits: [
      {
        file: `${partition}/remembering/known-table.ts`,
        find: 'const known = isNew ? -1 : this.#find();',
        replace: 'const known = -1;',
      },
    ],
  },
  {
    name: 'remember a number that was changed',
    edits: [
      {
        file: `${partition}/remembering/known-table.ts`,
        find: 'if (this.#placeWords === 2) return;',
        replace: 'if (known >= 0) return;',
      },
    ],
  },
  {
    name: 'answer with a value as it was before it was written',
    edits: [
      {
        file: `${partition}/remembering/hot-engines.ts`,
        find: 'if (isSmall) this.#values.changing(key);',
        replace: '',
      },
    ],
  },
  {
    name: 'keep a value that is read while it is being written',
    edits: [
      {
        file: `${partition}/remembering/hot-values.ts`,
        find: 'if (this.#writes > 0) return;',
        replace: '',
      },
    ],
  },
];
