/** What an importer asks of a cluster, of which there is none here. */
import { expect, test } from 'vitest';
import { importFrom } from '../../../src/cli/import/import.ts';
import { type Choice, Importer } from '../../../src/cli/import/importer.ts';
import type { OnLibrary } from '../../../src/cli/import/libraries.ts';
import { type KeyHead, RdbFileError } from '../../../src/cli/import/rdb/rdb-events.ts';
import { Report } from '../../../src/cli/import/report.ts';
import type { Target } from '../../../src/cli/import/target.ts';
import type { Client } from '../../../src/sdk/client.ts';
import { ReplyError } from '../../../src/sdk/errors.ts';

/** Libraries with the functions that their code names, as a namespace keeps them. */
class FakeNamespace {
  readonly asked: string[] = [];
  readonly libraries = new Map<string, Buffer>();

  readonly client = {
    partitionOf: () => 0,
    exists: async () => 0,
    call: async (...line: unknown[]) => {
      this.asked.push(line.join(' '));
      return 'OK';
    },
    callBuffer: async (_name: string, ...line: unknown[]) => this.#function(line),
  } as unknown as Client;

  #function([word, ...args]: readonly unknown[]): unknown {
    this.asked.push(`FUNCTION ${word}`);
    if (word === 'LIST') {
      const found = [...this.libraries].filter(([name]) => name === args[1]);
      return found.map(([name, code]) => ['library_name', name, 'library_code', code]);
    }
    const code = args.at(-1) as Buffer;
    const [, name = '', functions = ''] = /^#!lua name=(\w+)\n(.*)/.exec(code.toString())!;
    if (functions === 'broken') throw new ReplyError('ERR Error compiling function: broken');
    if (this.libraries.has(name) && args[0] !== 'REPLACE') {
      throw new ReplyError(`ERR Library '${name}' already exists`);
    }
    for (const one of functions.split(' ')) {
      const has = [...this.libraries].some(
        ([other, its]) => other !== name && its.toString().split(/[\n ]/).includes(one),
      );
      if (has) throw new ReplyError(`ERR Function ${one} already exists`);
    }
    this.libraries.set(name, code);
    return name;
  }
}

const code = (name: string, functions: string) => Buffer.from(`#!lua name=${name}\n${functions}`);

function importing(more: Partial<Choice> = {}) {
  const namespace = new FakeNamespace();
  const target = { client: async () => namespace.client } as unknown as Target;
  const choice = { onConflict: 'fail', onLibrary: 'fail', isDry: false, isAnew: false } as const;
  const report = new Report(() => {});
  return { namespace, report, importer: new Importer(target, { ...choice, ...more }, report) };
}

const head: KeyHead = { key: Buffer.from('k'), type: 0, deadlineMs: undefined, offset: 9 };
const key = { kind: 'string', head, bytes: Buffer.from('v') } as const;

test('a dry run empties nothing, whatever else it is told', async () => {
  const { namespace, report, importer } = importing({ isDry: true, isAnew: true });
  await importer.take({ kind: 'library', name: 'a', code: code('a', 'f') });
  await importer.take(key);
  await importer.finish();
  expect(namespace.asked).toEqual(['FUNCTION LIST']);
  expect([report.get('keys'), report.get('libraries')]).toEqual([1, 1]);
});

test('of a damaged file what comes before the damage is written', async () => {
  const { namespace, importer } = importing();
  const damaged = importer.takeAll(async (take) => {
    await take(key);
    throw new RdbFileError(9, 'a key', 'it is cut');
  });
  await expect(damaged).rejects.toThrow('it is cut');
  expect(namespace.asked).toEqual(['MSETNX k v']);
});

test.each([
  [{ dryRun: true, follow: true }, '--dry-run is not for it'],
  [{ dryRun: true, untilCaughtUp: true }, '--dry-run is not for it'],
  [{ check: true }, '--from is not for it'],
  [{ match: 'a*', follow: true }, '--match is not for it'],
])('%o of a source would write all the same, and is refused', async (flags, told) => {
  const from = 'redis://127.0.0.1:1';
  const to = { to: from, onConflict: 'fail' };
  await expect(importFrom(undefined, { from, ...to, ...flags })).rejects.toThrow(told);
});

test('libraries come into a namespace before its first key, and where there is none', async () => {
  const { namespace, importer } = importing();
  await importer.take({ kind: 'library', name: 'a', code: code('a', 'f') });
  expect(namespace.asked).toEqual([]);
  await importer.take(key);
  await importer.finish();
  expect(namespace.asked).toEqual(['FUNCTION LOAD', 'MSETNX k v']);
  const without = importing();
  await without.importer.take({ kind: 'library', name: 'a', code: code('a', 'f') });
  await without.importer.finish();
  expect([...without.namespace.libraries.keys()]).toEqual(['a']);
});

async function onto(onLibrary: OnLibrary, ...libraries: readonly (readonly [string, string])[]) {
  const { namespace, report, importer } = importing({ onLibrary });
  namespace.libraries.set('a', code('a', 'f'));
  for (const [name, functions] of libraries) {
    await importer.take({ kind: 'library', name, code: code(name, functions) });
  }
  await importer.finish();
  const kept = [...namespace.libraries.values()].map((one) => one.toString().slice(11)).sort();
  const counts = [report.get('libraries'), report.get('keptLibraries'), report.refused];
  return { kept, counts, exitCode: report.exitCode };
}

test('one that is there as the file has it is no conflict', async () => {
  expect(await onto('fail', ['a', 'f'])).toEqual({
    kept: ['a\nf'],
    counts: [1, 0, 0],
    exitCode: 0,
  });
});

test('one with other code is named, kept or replaced', async () => {
  await expect(onto('fail', ['a', 'g'])).rejects.toThrow(
    'the library of functions a is there already, with other code',
  );
  expect(await onto('skip', ['a', 'g'])).toMatchObject({ kept: ['a\nf'], counts: [0, 1, 0] });
  expect(await onto('replace', ['a', 'g'])).toMatchObject({ kept: ['a\ng'], counts: [1, 0, 0] });
  expect(await onto('none', ['a', 'g'])).toMatchObject({ kept: ['a\nf'], counts: [0, 0, 0] });
});

test('so is one whose function another has, unless that one is replaced as well', async () => {
  await expect(onto('fail', ['b', 'f'])).rejects.toThrow(
    'the library of functions b cannot be loaded: ERR Function f already exists',
  );
  expect(await onto('skip', ['b', 'f'])).toMatchObject({ counts: [0, 1, 0], exitCode: 0 });
  expect(await onto('replace', ['b', 'f'], ['a', 'g'])).toMatchObject({
    kept: ['a\ng', 'b\nf'],
    counts: [2, 0, 0],
  });
  expect(await onto('replace', ['b', 'f'])).toMatchObject({ counts: [0, 0, 1], exitCode: 2 });
});

test('one that cannot be loaded is left out for a fault', async () => {
  expect(await onto('fail', ['b', 'broken'])).toMatchObject({ counts: [0, 0, 1], exitCode: 2 });
});
