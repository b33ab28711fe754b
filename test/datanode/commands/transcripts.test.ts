/**
 * Transcripts: `> request`, then the reply. `~>`: the reply's order means nothing. `!>`: kvorum
 * only (the reply depends on the build). Each runs on an empty partition and, where there is a
 * redis-server, on that too: both must answer literally as written. KVORUM_REWRITE=1 writes the
 * partition's replies into the files. They lie in the folders of the commands they are about.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Command } from '../../../src/datanode/commands/rows/command.ts';
import { commandTable } from '../../../src/datanode/commands/table/table.ts';
import type { Reply } from '../../../src/datanode/resp/reply.ts';
import { LonePartition } from './lone-partition.ts';
import { hasRedis, RealRedis } from './real-redis.ts';
import { replyText, sortedReplyText } from './reply-text.ts';

interface Step {
  readonly mark: '>' | '~>' | '!>';
  readonly line: string;
  readonly expected: string;
}

const directory = import.meta.dirname;
const files = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.txt'))
  .sort();
const rewrite = process.env['KVORUM_REWRITE'] === '1';

function parseTranscript(text: string): Step[] {
  return text
    .split(/^(?=[~!]?> )/m)
    .filter((block) => /^[~!]?> /.test(block))
    .map((block) => {
      const [first = '', ...rest] = block.split('\n');
      const [, mark, line] = /^([~!]?>) (.*)$/.exec(first)!;
      const expected = rest.filter((row) => row !== '' && !row.startsWith('#')).join('\n');
      return { mark: mark as Step['mark'], line: line!, expected };
    });
}

/** Words by spaces; "…" as in JSON, its characters are bytes. */
function wordsOf(line: string): Buffer[] {
  return [...line.matchAll(/"(?:[^"\\]|\\.)*"|\S+/g)].map(([text]) =>
    Buffer.from(text.startsWith('"') ? (JSON.parse(text) as string) : text, 'latin1'),
  );
}

function textOf(step: Step, reply: Reply): string {
  return step.mark === '~>' ? sortedReplyText(reply) : replyText(reply);
}

function rewriteTranscript(text: string, replies: readonly string[]): string {
  let at = 0;
  const blocks = text.split(/^(?=[~!]?> )/m).map((block) => {
    if (!/^[~!]?> /.test(block)) return block;
    const [first = '', ...rest] = block.split('\n');
    const comments = rest.filter((row) => row === '' || row.startsWith('#'));
    return [first, replies[at++], ...comments].join('\n');
  });
  return blocks.join('');
}

describe.each(files)('%s', (name) => {
  const path = join(directory, name);
  const text = readFileSync(path, 'utf8');
  const steps = parseTranscript(text);

  test('the partition answers as written', async () => {
    const partition = await LonePartition.open();
    const replies: string[] = [];
    for (const step of steps) {
      const reply = textOf(step, await partition.call(...wordsOf(step.line)));
      replies.push(reply);
      if (!rewrite) expect(reply, step.line).toBe(step.expected);
    }
    if (rewrite) writeFileSync(path, rewriteTranscript(text, replies));
  });

  describe.skipIf(!hasRedis)('redis-server', () => {
    let redis: RealRedis;
    beforeAll(async () => {
      redis = await RealRedis.start();
    });
    afterAll(() => redis?.stop());

    test('answers as written', async () => {
      for (const step of steps) {
        if (step.mark === '!>') continue;
        const reply = await redis.call(...wordsOf(step.line));
        expect.soft(textOf(step, reply), step.line).toBe(step.expected);
      }
    });
  });
});

test('every command that touches data is in a transcript', () => {
  const lines = files.flatMap((name) =>
    parseTranscript(readFileSync(join(directory, name), 'utf8')).map((step) =>
      wordsOf(step.line).map((text) => text.toString('latin1').toLowerCase()),
    ),
  );
  const isCovered = ({ name }: Command) => {
    const [command, subcommand] = name.split('|');
    return lines.some((w) => w[0] === command && (subcommand === undefined || w[1] === subcommand));
  };
  const rows = [...commandTable.values()]
    .flatMap((command) => [command, ...(command.subcommands ?? [])])
    // transactions need connections: test/differential/transaction.test.ts
    .filter(({ kind, group }) => kind !== 'node' && group !== 'transactions');
  expect(rows.length).toBeGreaterThan(40);
  expect(rows.filter((row) => !isCovered(row)).map((row) => row.name)).toEqual([]);
});
