/** Arguments of commands as COMMAND DOCS shows them, beside those of a stock redis-server. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseSyntax, wordsOf } from '../../../../src/datanode/commands/docs/command-arguments.ts';
import { syntaxByName } from '../../../../src/datanode/commands/docs/command-syntax.ts';
import { keySpecsOf } from '../../../../src/datanode/commands/docs/key-specs.ts';
import type { Command } from '../../../../src/datanode/commands/rows/command.ts';
import { commandTable } from '../../../../src/datanode/commands/table/table.ts';
import { encodeReply } from '../../../../src/datanode/resp/encode-reply.ts';
import type { Reply } from '../../../../src/datanode/resp/reply.ts';
import { FakeNode } from '../fake-node.ts';
import { hasRedis, RealRedis } from '../real-redis.ts';
import { decodeReply } from '../reply-text.ts';

const rows: readonly Command[] = [...commandTable.values()].flatMap((row) => [
  row,
  ...(row.subcommands ?? []),
]);

/** What differs from Redis 7.0.15 and why; names of arguments are ours and not compared. */
const different: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/^(hscan|z(rev)?rank)$/, 'NOVALUES and WITHSCORE are newer'],
  [/^(geo(hash|pos)|pfmerge)$/, 'may be called without members or sources: so their arity says'],
  [
    /^geo(search|radius)/,
    'a word before several arguments is the token of their block, as LIMIT is',
  ],
  [/^set$/, 'what compares is newer'],
  [/^x(add|trim)$/, 'words for what is pending are newer'],
  [/^xreadgroup$/, 'CLAIM is newer'],
  [/^bitop$/, 'operations are told by name, since 7.2'],
  [/^sort/, 'a pattern is no key'],
  [/^select$/, 'names are taken'],
  [/^client\|(list|kill)$/, 'no block around one argument, and both words of SKIPME are told'],
  [/^(psubscribe|config\|get)$/, 'no block around one argument'],
  [/^command\|getkeys/, '7.0 does not tell that they take a command'],
];

type Fields = ReadonlyMap<string, Reply>;

function fieldsOf(reply: Reply): Fields {
  if (reply.kind === 'map') return new Map(reply.pairs.map(([key, value]) => [textOf(key), value]));
  const items = itemsOf(reply);
  return new Map(
    items.flatMap((item, at) => (at % 2 === 0 ? [[textOf(item), items[at + 1]!] as const] : [])),
  );
}

function itemsOf(reply: Reply): readonly Reply[] {
  if (reply.kind === 'array' || reply.kind === 'set') return reply.items;
  throw new Error(`no items in ${reply.kind}`);
}

function textOf(reply: Reply): string {
  if (reply.kind === 'bulk') return reply.bytes.toString('latin1');
  if (reply.kind === 'simple') return reply.text;
  return reply.kind === 'integer' ? String(reply.value) : reply.kind;
}

/** A tree of arguments as a line, without their names. */
function shape(list: Reply | undefined): string {
  if (list === undefined) return '';
  return itemsOf(list)
    .map((item) => {
      const fields = fieldsOf(item);
      const text = (name: string) => (fields.has(name) ? textOf(fields.get(name)!) : '');
      const flags = fields.has('flags') ? itemsOf(fields.get('flags')!).map(textOf).sort() : [];
      const inner = fields.has('arguments') ? `(${shape(fields.get('arguments'))})` : '';
      const key = fields.has('key_spec_index') ? `#${text('key_spec_index')}` : '';
      const type = text('type') === 'pure-token' ? '' : `<${text('type')}${key}>`;
      return `${[text('token').toUpperCase(), type].filter(Boolean).join(' ')}${inner}${flags.length ? `{${flags}}` : ''}`;
    })
    .join(' ');
}

test.each(rows.map((row) => [row.name, row] as const))(
  '%s: as many words as its arity',
  (name, row) => {
    if (row.subcommands !== undefined) return expect(syntaxByName.has(name)).toBe(false);
    const { least, open } = wordsOf(parseSyntax(syntaxByName.get(name) ?? ''));
    const words = least + (name.includes('|') ? 2 : 1);
    const anything = /^(quit|psync|replconf|cluster\|)/.test(name);
    if (!anything) expect(open ? -words : words).toBe(row.arity);
  },
);

test('every line is read and belongs to a command, and keys have their specification', () => {
  const later = /^b(l|r|z)/;
  const names = new Set(rows.map(({ name }) => name));
  expect([...syntaxByName.keys()].filter((name) => !names.has(name) && !later.test(name))).toEqual(
    [],
  );
  for (const row of rows) {
    const shown = JSON.stringify(parseSyntax(syntaxByName.get(row.name) ?? ''));
    const keys = shown.split('"type":"key"').length - 1;
    const specs = keySpecsOf(row).filter(({ flags }) => !flags.includes('not_key'));
    // LCS has one specification for its two keys; what SORT's patterns find has one of its own; KV.ONCE
    // has the keys of what it carries
    const alike = /^(lcs$|sort|kv\.once)/.test(row.name);
    if (!alike) expect([row.name, keys]).toEqual([row.name, specs.length]);
  }
});

describe.runIf(hasRedis)('COMMAND DOCS beside a stock redis-server', () => {
  let redis: RealRedis;
  beforeAll(async () => {
    redis = await RealRedis.start();
  });
  afterAll(() => redis.stop());

  test('has the same words and types in the same places', async () => {
    const named = await new FakeNode().call('command', 'docs', ...commandTable.keys());
    const own = fieldsOf(decodeReply(encodeReply(named, 2))!.reply);
    const unequal: string[] = [];
    let shared = 0;
    const compare = (name: string, mine: Fields, theirs: Fields) => {
      const [ours, other] = [shape(mine.get('arguments')), shape(theirs.get('arguments'))];
      shared++;
      if (ours !== other && !different.some(([pattern]) => pattern.test(name))) {
        unequal.push(`${name}\n  ${ours}\n  ${other}`);
      }
    };
    for (const [name, docs] of own) {
      const real = fieldsOf(await redis.call('command', 'docs', name)).get(name);
      if (real === undefined) continue;
      const [mine, theirs] = [fieldsOf(docs), fieldsOf(real)];
      compare(name, mine, theirs);
      if (!mine.has('subcommands') || !theirs.has('subcommands')) continue;
      const others = fieldsOf(theirs.get('subcommands')!);
      for (const [sub, subDocs] of fieldsOf(mine.get('subcommands')!)) {
        const other = others.get(sub);
        if (other !== undefined) compare(sub, fieldsOf(subDocs), fieldsOf(other));
      }
    }
    expect(shared).toBeGreaterThan(200);
    expect(unequal.join('\n')).toBe('');
  });
});
