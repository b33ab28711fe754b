/**
 * What functions of the libraries answer, compared with what redis-server 7.0 has answered (`testdata`).
 * KVORUM_REWRITE=1 asks a redis-server again and writes the file anew.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RealRedis } from '../../commands/real-redis.ts';
import { calls } from './calls.ts';
import { packing } from './packing-calls.ts';
import { type Call, literal, shownCall, sourceOf } from './showing.ts';

const file = join(import.meta.dirname, 'testdata/calls.txt');
const all = [...calls, ...packing];

function textOf([name, ...args]: Call): string {
  return `${name}(${args.map(literal).join(', ')})`;
}

async function ask(): Promise<void> {
  const redis = await RealRedis.start('--maxmemory', '1gb', '--proto-max-bulk-len', '16777216');
  try {
    const lines: string[] = [];
    for (const call of all) {
      const reply = await redis.call('EVAL', Buffer.from(sourceOf(call), 'latin1'), '0');
      const text = 'bytes' in reply ? String(reply.bytes) : JSON.stringify(reply);
      lines.push(`${textOf(call)}\n  ${text}\n`);
    }
    writeFileSync(file, lines.join(''), 'latin1');
  } finally {
    await redis.stop();
  }
}

if (process.env['KVORUM_REWRITE'] === '1') await ask();

const expected = new Map(
  readFileSync(file, 'latin1')
    .trimEnd()
    .split('\n')
    .reduce<[string, string][]>((rows, line) => {
      if (line.startsWith('  ')) rows.at(-1)![1] = line.slice(2);
      else rows.push([line, '']);
      return rows;
    }, []),
);

test('every call is one that redis-server was asked for', () => {
  expect(all.map(textOf).filter((text) => !expected.has(text))).toEqual([]);
});

test.each(all.map((call) => [textOf(call).slice(0, 80), call] as const))('%s', (_, call) => {
  expect(shownCall(call)).toBe(expected.get(textOf(call)));
});
