/**
 * The syntax of commands as redis-server's own COMMAND DOCS tells it, as arbitraries: every option
 * with every other, in any order, and lines that are slightly wrong.
 */
import fc from 'fast-check';
import type { Reply } from '../../src/datanode/resp/reply.ts';
import { RealRedis } from '../datanode/commands/real-redis.ts';

export interface Argument {
  readonly name: string;
  readonly type: string;
  readonly token: string | undefined;
  readonly optional: boolean;
  readonly multiple: boolean;
  /** Each repetition has the token again. */
  readonly multipleToken: boolean;
  readonly arguments: readonly Argument[];
}

export interface Syntax {
  readonly name: string;
  readonly group: string;
  readonly arguments: readonly Argument[];
}

/** What may stand for a key, number or word of a command. */
export type Vocabulary = (argument: Argument, command: Syntax) => fc.Arbitrary<string>;

interface Word {
  readonly text: string;
  readonly kind: 'key' | 'count of keys' | 'other';
}

type Words = fc.Arbitrary<Word[]>;

/** All commands and subcommands (`object|freq`) that redis-server documents. */
export async function readSyntax(): Promise<readonly Syntax[]> {
  const redis = await RealRedis.start();
  const docs = fieldsOf(await redis.call('COMMAND', 'DOCS'));
  await redis.stop();
  return inOrder(docs).flatMap(([name, doc]) => syntaxOf(name, doc));
}

/** Of names: redis-server tells them in another order each time it is started. */
function inOrder(docs: ReadonlyMap<string, Reply>): [string, Reply][] {
  return [...docs].sort(([one], [other]) => (one < other ? -1 : 1));
}

function syntaxOf(name: string, doc: Reply): Syntax[] {
  const fields = fieldsOf(doc);
  const parts = fields.get('subcommands');
  if (parts !== undefined)
    return inOrder(fieldsOf(parts)).flatMap(([part, inner]) => syntaxOf(part, inner));
  const group = textOf(fields.get('group'));
  return [{ name, group, arguments: itemsOf(fields.get('arguments')).map(argumentOf) }];
}

function argumentOf(doc: Reply): Argument {
  const fields = fieldsOf(doc);
  const flags = itemsOf(fields.get('flags')).map(textOf);
  return {
    name: textOf(fields.get('name')),
    type: textOf(fields.get('type')),
    token: fields.has('token') ? textOf(fields.get('token')) : undefined,
    optional: flags.includes('optional'),
    multiple: flags.includes('multiple'),
    multipleToken: flags.includes('multiple_token'),
    arguments: itemsOf(fields.get('arguments')).map(argumentOf),
  };
}

/** In RESP2 a map is an array of names and values. */
function fieldsOf(reply: Reply | undefined): Map<string, Reply> {
  const items = itemsOf(reply);
  const names = items.filter((_, at) => at % 2 === 0);
  return new Map(names.map((name, at) => [textOf(name), items[2 * at + 1]!]));
}

function itemsOf(reply: Reply | undefined): readonly Reply[] {
  return reply?.kind === 'array' ? reply.items : [];
}

function textOf(reply: Reply | undefined): string {
  if (reply?.kind === 'bulk') return reply.bytes.toString('latin1');
  return reply?.kind === 'simple' ? reply.text : '';
}

/** Lines of one command: most as documented, the others with a word more, less or another. */
export function linesOf(syntax: Syntax, vocabulary: Vocabulary): fc.Arbitrary<string[]> {
  const tokens = ['nonsense', ...syntax.arguments.flatMap(tokensOf)];
  const line = fc
    .tuple(sequence(syntax.arguments, syntax, vocabulary), fc.nat(9))
    .map(([parts, luck]) => [...syntax.name.split('|'), ...texts(parts, luck)]);
  const garbage = fc.constantFrom(
    '',
    'nonsense',
    '-1',
    '1.5',
    '9223372036854775807',
    '\u00ff\u0000\r\n',
  );
  return fc.oneof(
    { weight: 14, arbitrary: line },
    {
      weight: 2,
      arbitrary: bent(
        line,
        (words, at, token) => words.splice(at, 0, token),
        fc.constantFrom(...tokens),
      ),
    },
    { weight: 1, arbitrary: bent(line, (words, at) => words.splice(at, 1), garbage) },
    {
      weight: 1,
      arbitrary: bent(line, (words, at) => words.splice(at, 0, words[at] ?? ''), garbage),
    },
    { weight: 2, arbitrary: bent(line, (words, at, text) => words.splice(at, 1, text), garbage) },
  );
}

function bent(
  line: fc.Arbitrary<string[]>,
  bend: (words: string[], at: number, text: string) => unknown,
  text: fc.Arbitrary<string>,
): fc.Arbitrary<string[]> {
  return fc.tuple(line, fc.nat(), text).map(([words, place, given]) => {
    const copy = [...words];
    bend(copy, 1 + (place % copy.length), given);
    return copy;
  });
}

function tokensOf(argument: Argument): string[] {
  const own = argument.token === undefined ? [] : [argument.token];
  return [...own, ...argument.arguments.flatMap(tokensOf)];
}

/** A count of keys is right in nine of ten lines. */
function texts(parts: readonly Word[], luck: number): string[] {
  return parts.map(({ text, kind }, at) => {
    if (kind !== 'count of keys' || luck === 0) return text;
    const rest = parts.slice(at + 1);
    const end = rest.findIndex((next) => next.kind !== 'key');
    return String(end < 0 ? rest.length : end);
  });
}

/** Arguments one after the other; neighbours that are optional in any order. */
function sequence(list: readonly Argument[], command: Syntax, vocabulary: Vocabulary): Words {
  const runs: Words[] = [];
  for (let at = 0; at < list.length; ) {
    const length = list.slice(at).findIndex(({ optional }) => !optional);
    const end = length < 0 ? list.length : at + length;
    const options = list.slice(at, end).map((each) => repeated(each, command, vocabulary));
    if (options.length > 0) {
      runs.push(fc.shuffledSubarray(options).chain((some) => joined(some)));
    }
    if (end < list.length) runs.push(repeated(list[end]!, command, vocabulary));
    at = end + 1;
  }
  return joined(runs);
}

function joined(parts: readonly Words[]): Words {
  return fc.tuple(...parts).map((lists) => lists.flat());
}

function repeated(argument: Argument, command: Syntax, vocabulary: Vocabulary): Words {
  const token: Word[] =
    argument.token === undefined ? [] : [{ text: argument.token, kind: 'other' }];
  if (argument.type === 'pure-token') return fc.constant(token);
  const one = single(argument, command, vocabulary);
  if (!argument.multiple) return one.map((words) => [...token, ...words]);
  const all = fc.array(one, { minLength: 1, maxLength: 4 });
  if (argument.multipleToken)
    return all.map((lists) => lists.flatMap((words) => [...token, ...words]));
  return all.map((lists) => [...token, ...lists.flat()]);
}

function single(argument: Argument, command: Syntax, vocabulary: Vocabulary): Words {
  if (argument.type === 'block') return sequence(argument.arguments, command, vocabulary);
  if (argument.type === 'oneof') {
    return fc.oneof(...argument.arguments.map((each) => repeated(each, command, vocabulary)));
  }
  const kind =
    argument.type === 'key' ? 'key' : argument.name === 'numkeys' ? 'count of keys' : 'other';
  return vocabulary(argument, command).map((text) => [{ text, kind }]);
}
