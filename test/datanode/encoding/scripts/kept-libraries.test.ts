import { createHash } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { redisDataRange } from '../../../../src/datanode/encoding/records/key.ts';
import {
  allLibraries,
  flushLibraries,
  functionNamed,
  isFunctionKey,
  type KeptLibrary,
  keepLibrary,
  libraryBytes,
  libraryCode,
  libraryNamed,
  libraryTotals,
  removeLibrary,
} from '../../../../src/datanode/encoding/scripts/kept-libraries.ts';
import type { Slices } from '../../../../src/datanode/encoding/steps/slices.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import type { Engine } from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';

const CHECKSUM_BYTES = 4;

let engine: Engine;
let txn: Txn;

beforeEach(async () => {
  ({ engine } = await createMemoryHost().open('1-0'));
  txn = new Txn(engine);
});

function libraryOf(name: string, code: string, ...functions: string[]): KeptLibrary {
  const sha = createHash('sha1').update(code).digest('hex');
  const registered = functions.map((own, at) => {
    return { name: own, flags: at, description: at === 0 ? Buffer.from('first') : undefined };
  });
  return { name, sha, codeBytes: code.length, functions: registered };
}

function keep(name: string, code: string, ...functions: string[]): KeptLibrary {
  const library = libraryOf(name, code, ...functions);
  atOnce(keepLibrary(txn, library, Buffer.from(code)));
  return library;
}

/** It asks for no range. */
function atOnce<T>(run: Slices<T>): T {
  for (let step = run.next(); ; step = run.next([])) if (step.done) return step.value;
}

async function ranged(run: Slices<void>): Promise<void> {
  for (let step = run.next(); !step.done; ) step = run.next(await txn.range(step.value));
}

async function stored(): Promise<readonly (readonly [Buffer, Buffer])[]> {
  await engine.write(txn.operations());
  txn = new Txn(engine);
  return await engine.iterate({ gte: Buffer.from([1]), lt: Buffer.from([0xff]) }).next(1_000);
}

async function names(): Promise<string[]> {
  const found: string[] = [];
  await ranged(allLibraries(({ name }) => found.push(name)));
  return found;
}

test('a library is found by its name, and a function by its own in any case', async () => {
  const library = keep('lib', 'code', 'One', 'two');
  expect(libraryNamed(txn, 'lib')).toEqual(library);
  expect(libraryNamed(txn, 'LIB')).toBeUndefined();
  expect(libraryCode(txn, 'lib')?.toString()).toBe('code');
  const found = { name: 'One', library: 'lib', sha: library.sha, flags: 0 };
  expect(functionNamed(txn, 'oNE')).toEqual(found);
  expect(functionNamed(txn, 'two')?.flags).toBe(1);
  for (const name of ['', 'a-b', 'three', 'x'.repeat(256), 'é']) {
    expect(functionNamed(txn, name), name).toBeUndefined();
    expect(libraryNamed(txn, name), name).toBeUndefined();
  }
  await stored();
  expect(libraryNamed(txn, 'lib')).toEqual(library);
});

test('all of them are counted with what they take, and walked by name', async () => {
  const [b, a] = [keep('b', 'x'.repeat(1_000), 'f', 'g'), keep('a', 'y', 'h')];
  const bytes = libraryBytes(a) + libraryBytes(b);
  expect(libraryTotals(txn)).toEqual({ libraries: 2, functions: 3, bytes });
  expect(bytes).toBeGreaterThan(1_001 + 5 * 256);
  expect(await names()).toEqual(['a', 'b']);
  const removed = () => atOnce(removeLibrary(txn, 'b'));
  expect([removed(), removed()]).toEqual([true, false]);
  expect(libraryTotals(txn)).toEqual({ libraries: 1, functions: 1, bytes: libraryBytes(a) });
  expect(functionNamed(txn, 'g')).toBeUndefined();
  expect(await names()).toEqual(['a']);
});

test('nothing is left of what is removed, or flushed, and nothing of it is data of users', async () => {
  keep('a', 'code', 'f');
  const { gte, lt } = redisDataRange();
  const keys = (await stored()).map(([key]) => key);
  expect(keys.length).toBe(4);
  for (const key of keys) {
    expect(isFunctionKey(key), key.toString('latin1')).toBe(true);
    expect(key.compare(gte) >= 0 && key.compare(lt) < 0).toBe(false);
  }
  keep('b', 'code', 'g');
  await ranged(flushLibraries(txn));
  expect(await stored()).toEqual([]);
  expect(libraryTotals(txn)).toEqual({ libraries: 0, functions: 0, bytes: 0 });
});

test('the records are frozen', async () => {
  keep('lib', 'code', 'One');
  const shown = (await stored()).map(
    ([key, record]) =>
      `${key.toString('latin1', 1)} ${record.toString('hex', 0, record.length - CHECKSUM_BYTES)}`,
  );
  const sha = createHash('sha1').update('code').digest('hex');
  const one = '000000034f6e65';
  expect(shown).toEqual([
    `function-code:lib 01${Buffer.from('code').toString('hex')}`,
    `function-library:lib 01${sha}0000000400000001${one}0001000000056669727374`,
    `function-name:one 0100${sha}${one}000000036c6962`,
    'functions 010000000100000001000000000000020c',
  ]);
});
