/** Starts of a node are counted: whose directory counts fewer than the store is an older copy. */
import { expect, test } from 'vitest';
import { Life, type LifeNotes } from '../../../src/datanode/coordinator/life.ts';
import { decodeRecord, recordKinds } from '../../../src/meta/records.ts';

const owner = { node: 'n1', incarnation: 'one' };
const stored = (life?: number) => ({ version: 1, ...owner, ...(life !== undefined && { life }) });

function notesOf(life?: number): LifeNotes & { life: number | undefined; written: number[] } {
  const written: number[] = [];
  return {
    life,
    written,
    async beginLife(begun) {
      this.life = begun;
      written.push(begun);
    },
  };
}

async function begin(notes: LifeNotes, life?: number): Promise<number | undefined> {
  const { key, value } = await new Life(notes).begin(owner, stored(life));
  return decodeRecord(recordKinds.incarnation, key, value).life;
}

test.each([
  ['of a new node', undefined, undefined, 1],
  ['after an older build', undefined, 7, 8],
  ['after a life', 7, 7, 8],
  ['after a life that ended before it had registered', 8, 7, 9],
  ['when the store was set back', 8, 2, 9],
  ['when the name was removed from the store', 8, undefined, 9],
])(
  'a life %s is the next, and on disk before the store hears of it',
  async (_, own, known, next) => {
    const notes = notesOf(own);
    expect(await begin(notes, known)).toBe(next);
    expect(notes.written).toEqual([next]);
  },
);

test('a process has one life, however often it registers', async () => {
  const notes = notesOf(3);
  const life = new Life(notes);
  await life.begin(owner, stored(3));
  const { value } = await life.begin(owner, stored(4));
  expect(JSON.parse(value)).toMatchObject({ life: 4 });
  expect(notes.written).toEqual([4]);
});

test('a directory that is behind the store is refused, and told what to do', async () => {
  const notes = notesOf(6);
  const begun = begin(notes, 7);
  await expect(begun).rejects.toMatchObject({ code: 'CONFLICT' });
  await expect(begun).rejects.toThrow(
    /node n1 is an older copy that was put back: it is of start 6, and the node was started 7 times.*move the directory away.*remove \/kvorum\/incarnations\/n1/s,
  );
  expect(notes.written).toEqual([]);
});

test('a count that could not be written is told to nobody', async () => {
  const full = new Error('no space');
  const notes: LifeNotes = { life: 1, beginLife: () => Promise.reject(full) };
  await expect(begin(notes, 1)).rejects.toBe(full);
});
