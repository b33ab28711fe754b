/** Small commands about the server that tools ask: TIME, ROLE, LASTSAVE, LOLWUT, SAVE … */
import { parseInteger } from '../../encoding/strings/string.ts';
import { array, bulk, error, integer, OK, type Reply } from '../../resp/reply.ts';
import { NOT_AN_INTEGER, SYNTAX_ERROR, word } from '../rows/args.ts';
import type { Command } from '../rows/command.ts';
import { type Run, serverRow } from '../rows/server-row.ts';
import { replicationOffset } from './info-sections.ts';

const time: Run = (_args, { nowMs }) => {
  const seconds = Math.floor(nowMs / 1_000);
  return array([bulk(String(seconds)), bulk(String((nowMs - seconds * 1_000) * 1_000))]);
};

const role: Run = (_args, context) => {
  const offset = integer(replicationOffset(context.info()));
  if (context.session.door !== 'follower') return array([bulk('master'), offset, array([])]);
  const own = context.clusterNodes().find(({ myself }) => myself);
  const place = [bulk(own?.host ?? ''), integer(own?.clusterPort ?? 0)];
  return array([bulk('slave'), ...place, bulk('connected'), offset]);
};

const lastSave: Run = (_args, { nowMs }) => integer(Math.floor(nowMs / 1_000));

const refuse =
  (text: string): Run =>
  () =>
    error(text);

const say = (text: string): Run => {
  const reply: Reply = { kind: 'simple', text };
  return () => reply;
};

/** BGSAVE [SCHEDULE] */
const backgroundSave: Run = (args) => {
  const known = args.length === 1 || (args.length === 2 && word(args[1]!) === 'schedule');
  return known ? { kind: 'simple', text: 'Background saving started' } : error(SYNTAX_ERROR);
};

const TRIANGLE_ROWS = 16;

/** LOLWUT [VERSION version [argument ...]]: a triangle in which every point has two parents. */
const lolwut: Run = (args, context) => {
  const [version, ...sizes] = args[1] && word(args[1]) === 'version' ? args.slice(2) : [];
  // the pictures of 5 and 6 have sizes; ours takes them and is as it is
  const numbers = version && /^[56]$/.test(version.toString()) ? [version, ...sizes] : [version];
  if (numbers.some((text) => text && parseInteger(text) === undefined))
    return error(NOT_AN_INTEGER);
  const lines: string[] = [];
  for (let row = TRIANGLE_ROWS - 1; row >= 0; row--) {
    let line = ' '.repeat(row);
    for (let at = 0; at + row < TRIANGLE_ROWS; at++) line += (at & row) === 0 ? '* ' : '  ';
    lines.push(line.trimEnd());
  }
  const text = `${lines.join('\n')}\n\nkvorum ver. ${context.info().facts.version}\n`;
  return { kind: 'verbatim', format: 'txt', text };
};

const always = ['loading', 'stale', 'fast'] as const;
const saving = ['admin', 'noscript'] as const;
const dangerous = ['admin', 'dangerous'];

export const serverInfoCommands: readonly Command[] = [
  serverRow('time', 1, always, '2.6.0', 'Returns the server time.', time),
  serverRow('lolwut', -1, ['readonly', 'fast'], '5.0.0', 'Draws something.', lolwut),
  serverRow(
    'role',
    1,
    ['noscript', ...always],
    '2.8.12',
    'Returns the role: every node takes every command.',
    role,
    dangerous,
  ),
  serverRow(
    'lastsave',
    1,
    always,
    '1.0.0',
    'Returns now: every write is durable.',
    lastSave,
    dangerous,
  ),
  serverRow('save', 1, [...saving, 'no_multi'], '1.0.0', 'OK: every write is durable.', () => OK),
  serverRow('bgsave', -1, saving, '1.0.0', 'Accepted: every write is durable.', backgroundSave),
  serverRow(
    'bgrewriteaof',
    1,
    saving,
    '1.0.0',
    'Accepted: the log is compacted by itself.',
    say('Background append only file rewriting started'),
  ),
  serverRow(
    'shutdown',
    -1,
    [...saving, 'loading', 'stale', 'no_multi', 'allow_busy'],
    '1.0.0',
    'Refused: processes are stopped where they were started.',
    refuse('ERR stop this datanode with SIGTERM, or the cluster with Ctrl-C'),
  ),
];
