/** What a running source does with its libraries of functions is asked of each namespace. */
import { expect, test } from 'vitest';
import { Libraries } from '../../../src/cli/import/libraries.ts';
import { Report } from '../../../src/cli/import/report.ts';
import type { Client } from '../../../src/sdk/client.ts';

const lineOf = (...words: string[]) => words.map((word) => Buffer.from(word));

function scene() {
  const asked: string[] = [];
  const callBuffer = async (...args: unknown[]) => void asked.push(args.map(String).join(' '));
  const libraries = new Libraries('fail', false, new Report(() => {}));
  return { asked, libraries, client: { callBuffer } as unknown as Client };
}

test.each([
  [['LOAD', '#!lua name=a'], 'FUNCTION LOAD REPLACE #!lua name=a'],
  [['load', 'REPLACE', '#!lua name=a'], 'FUNCTION LOAD REPLACE #!lua name=a'],
  [['DELETE', 'a'], 'FUNCTION DELETE a'],
  [['FLUSH', 'SYNC'], 'FUNCTION FLUSH'],
  [['RESTORE', 'bytes'], 'FUNCTION RESTORE bytes REPLACE'],
  [['RESTORE', 'bytes', 'flush'], 'FUNCTION RESTORE bytes FLUSH'],
  // the cluster is to say what is wrong with it
  [['LOAD'], 'FUNCTION LOAD REPLACE '],
])('%j', async (words, wanted) => {
  const { asked, libraries, client } = scene();
  await libraries.into(client);
  await libraries.follow(lineOf('FUNCTION', ...words));
  expect(asked).toEqual([wanted]);
});

test('a namespace that comes later gets what the source has then', async () => {
  const { asked, libraries, client } = scene();
  await libraries.follow(lineOf('FUNCTION', 'LOAD', '#!lua name=a\n'));
  await libraries.follow(lineOf('FUNCTION', 'LOAD', '#!lua name=b\n'));
  await libraries.follow(lineOf('FUNCTION', 'DELETE', 'a'));
  expect(asked).toEqual([]);
  await libraries.into(client);
  expect(asked).toEqual(['FUNCTION LOAD #!lua name=b\n']);
});
