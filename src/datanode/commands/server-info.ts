/** Small commands about the server that tools ask: TIME, ROLE, LATENCY, SLOWLOG, DEBUG SLEEP … */
import type { LatencyHistogram } from '../../common/latency-histogram.ts';
import { array, bulk, error, integer, OK, type Reply } from '../resp/reply.ts';
import { argument, SYNTAX_ERROR, word } from './args.ts';
import { type Command, type CommandFlag, NO_KEYS, type NodeCommand, node } from './command.ts';
import { helpReply } from './help.ts';
import { replicationOffset } from './info-sections.ts';

type Run = NodeCommand['run'];

function row(
  name: string,
  arity: number,
  flags: readonly CommandFlag[],
  since: string,
  summary: string,
  run: Run,
): NodeCommand {
  return node({
    name,
    arity,
    flags,
    keys: NO_KEYS,
    categories: [],
    group: 'server',
    since,
    summary,
    run,
  });
}

function container(
  name: string,
  since: string,
  summary: string,
  subs: readonly (readonly [name: string, arity: number, summary: string, run: Run])[],
): NodeCommand {
  const rows: NodeCommand[] = subs.map(([sub, arity, text, run]) =>
    row(`${name}|${sub}`, arity, ['admin', 'noscript', 'loading', 'stale'], since, text, run),
  );
  rows.push(
    row(`${name}|help`, 2, ['loading', 'stale'], since, 'Lists the subcommands.', () =>
      helpReply(name, rows),
    ),
  );
  return { ...row(name, -2, [], since, summary, () => error(SYNTAX_ERROR)), subcommands: rows };
}

const time: Run = (_args, { nowMs }) => {
  const seconds = Math.floor(nowMs / 1_000);
  return array([bulk(String(seconds)), bulk(String((nowMs - seconds * 1_000) * 1_000))]);
};

const role: Run = (_args, context) =>
  array([bulk('master'), integer(replicationOffset(context.info())), array([])]);

const lastSave: Run = (_args, { nowMs }) => integer(Math.floor(nowMs / 1_000));

const refuse =
  (text: string): Run =>
  () =>
    error(text);

const say = (text: string): Run => {
  const reply: Reply = { kind: 'simple', text };
  return () => reply;
};

const SLEEP_SECONDS_MAX = 60;

/** DEBUG SLEEP seconds: holds back this connection only. */
const debugSleep: Run = async (args, { sleep }) => {
  const seconds = Number(argument(args, 2).toString('latin1'));
  if (!Number.isFinite(seconds) || seconds < 0 || seconds > SLEEP_SECONDS_MAX) {
    return error(`ERR DEBUG SLEEP takes 0 to ${SLEEP_SECONDS_MAX} seconds`);
  }
  await sleep(seconds * 1_000);
  return OK;
};

const lolwut: Run = (_args, context) => bulk(`kvorum ${context.info().facts.version}\n`);

/** LATENCY HISTOGRAM [command ...]: cumulative counts at powers of two; a container: its subcommands. */
const latencyHistogram: Run = (args, context) => {
  const { commandStats } = context.info();
  const names = args.slice(2).map(word);
  const found = [...commandStats].filter(
    ([name, { calls }]) =>
      calls > 0 &&
      (names.length === 0 || names.some((one) => one === name || name.startsWith(`${one}|`))),
  );
  const pairs = found.map(([name, { calls, latency }]) => {
    const counts = latencyCounts(latency);
    const reply = flat('calls', integer(calls), 'histogram_usec', { kind: 'map', pairs: counts });
    return [bulk(name), reply] as const;
  });
  return { kind: 'map', pairs };
};

/** 2^0 to 2^24 µs; as in Redis only where the count grows. */
function latencyCounts(latency: LatencyHistogram): [Reply, Reply][] {
  let before = 0;
  const pairs: [Reply, Reply][] = [];
  for (const { belowMicroseconds, count } of latency.coarse(0)) {
    if (count > before) pairs.push([integer(belowMicroseconds), integer(count)]);
    before = count;
  }
  return pairs;
}

function flat(first: string, a: Reply, second: string, b: Reply): Reply {
  return {
    kind: 'map',
    pairs: [
      [bulk(first), a],
      [bulk(second), b],
    ],
  };
}

const none: Run = () => array([]);
const zero: Run = () => integer(0);
const fine: Run = () => OK;

export const serverInfoCommands: readonly Command[] = [
  row('time', 1, ['loading', 'stale', 'fast'], '2.6.0', 'Returns the server time.', time),
  row('lolwut', -1, ['readonly', 'fast'], '5.0.0', 'Displays the version.', lolwut),
  row('role', 1, ['noscript', 'loading', 'stale', 'fast'], '2.8.12', 'Returns the role.', role),
  row(
    'lastsave',
    1,
    ['loading', 'stale', 'fast'],
    '1.0.0',
    'Now: every write is durable.',
    lastSave,
  ),
  row('save', 1, ['admin', 'noscript', 'no_multi'], '1.0.0', 'OK: every write is durable.', fine),
  row(
    'bgsave',
    -1,
    ['admin', 'noscript'],
    '1.0.0',
    'Accepted: every write is durable.',
    say('Background saving started'),
  ),
  row(
    'bgrewriteaof',
    1,
    ['admin', 'noscript'],
    '1.0.0',
    'Accepted: the log is compacted by itself.',
    say('Background append only file rewriting started'),
  ),
  row(
    'shutdown',
    -1,
    ['admin', 'noscript', 'loading', 'stale', 'no_multi', 'allow_busy'],
    '1.0.0',
    'Refused: processes are stopped where they were started.',
    refuse('ERR stop this datanode with SIGTERM, or the cluster with Ctrl-C'),
  ),
  row(
    'monitor',
    1,
    ['admin', 'noscript', 'loading', 'stale'],
    '1.0.0',
    'Refused: not offered.',
    refuse('ERR MONITOR is not offered by this server'),
  ),
  row(
    'swapdb',
    3,
    ['write', 'fast'],
    '4.0.0',
    'Refused: namespaces are not swapped.',
    refuse('ERR SWAPDB is not offered by this server: namespaces have names'),
  ),
  container('debug', '1.0.0', 'A container for debugging commands.', [
    ['sleep', 3, 'Holds back this connection.', debugSleep],
  ]),
  container('latency', '2.8.13', 'A container for latency diagnostics.', [
    ['latest', 2, 'Returns no samples.', none],
    ['history', 3, 'Returns no samples.', none],
    ['reset', -2, 'Returns 0.', zero],
    ['doctor', 2, 'Returns no advice.', () => bulk('no latency samples are taken\n')],
    ['histogram', -2, 'Returns the latencies of commands.', latencyHistogram],
  ]),
  container('slowlog', '2.2.12', 'A container for slow log commands.', [
    ['get', -2, 'Returns no entries.', none],
    ['len', 2, 'Returns 0.', zero],
    ['reset', 2, 'Returns OK.', fine],
  ]),
];
