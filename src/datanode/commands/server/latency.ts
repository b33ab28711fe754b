/** LATENCY: spikes over `latency-monitor-threshold` and how long the commands take. */
import type { LatencyHistogram } from '../../../common/latency-histogram.ts';
import { array, bulk, error, integer, type Reply } from '../../resp/reply.ts';
import { argument, word } from '../rows/args.ts';
import type { Command } from '../rows/command.ts';
import type { LatencyEvent } from '../rows/node-watch.ts';
import { container, type Run } from '../rows/server-row.ts';

const latest: Run = (_args, { watch }) =>
  array(
    watch.latency.events().map(({ name, samples, worstMilliseconds }) => {
      const last = samples.at(-1)!;
      return array([
        bulk(name),
        integer(last.atSeconds),
        integer(last.milliseconds),
        integer(worstMilliseconds),
      ]);
    }),
  );

const eventOf = (args: readonly Buffer[], events: readonly LatencyEvent[]) => {
  const wanted = argument(args, 2).toString('utf8');
  return events.find(({ name }) => name === wanted);
};

/** LATENCY HISTORY event */
const history: Run = (args, { watch }) => {
  const samples = eventOf(args, watch.latency.events())?.samples ?? [];
  return array(
    samples.map(({ atSeconds, milliseconds }) =>
      array([integer(atSeconds), integer(milliseconds)]),
    ),
  );
};

/** LATENCY RESET [event ...] */
const reset: Run = (args, { watch }) =>
  integer(watch.latency.reset(args.slice(2).map((arg) => arg.toString('utf8'))));

const EVENT_SHOWN_MAX = 128;
const GRAPH_COLUMNS = 80;
const GRAPH_ROWS = 4;

/** LATENCY GRAPH event: a column a sample, oldest first, and below it how long ago it was. */
const graph: Run = (args, { watch, nowMs }) => {
  const event = eventOf(args, watch.latency.events());
  if (event === undefined) {
    const name = argument(args, 2).toString('utf8', 0, EVENT_SHOWN_MAX);
    return error(`ERR No samples available for event '${name}'`);
  }
  const samples = event.samples.slice(-GRAPH_COLUMNS);
  const values = samples.map(({ milliseconds }) => milliseconds);
  const high = Math.max(...values);
  const low = Math.min(...values);
  const lines = [
    `${event.name} - high ${high} ms, low ${low} ms (all time high ${event.worstMilliseconds} ms)`,
    '-'.repeat(GRAPH_COLUMNS),
  ];
  for (let row = GRAPH_ROWS; row > 0; row--) {
    const isFilled = (value: number) => (value - low) * GRAPH_ROWS > (high - low) * (row - 1);
    lines.push(values.map((value) => (isFilled(value) || row === 1 ? '#' : ' ')).join(''));
  }
  lines.push(...ages(samples.map(({ atSeconds }) => Math.floor(nowMs / 1_000) - atSeconds)));
  return { kind: 'verbatim', format: 'txt', text: `${lines.join('\n')}\n` };
};

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const;

/** Numbers and their units, written from top to bottom. */
function ages(seconds: readonly number[]): string[] {
  const texts = seconds.map((one) => {
    const [unit, length] = UNITS.find(([, size]) => one >= size) ?? ['s', 1];
    return `${Math.floor(Math.max(0, one) / length)}${unit}`;
  });
  const rows = Math.max(...texts.map((text) => text.length));
  return Array.from({ length: rows }, (_, row) => texts.map((text) => text[row] ?? ' ').join(''));
}

const doctor: Run = (_args, { watch }) => {
  const { thresholdMs } = watch.latency;
  const events = watch.latency.events();
  const text =
    thresholdMs === 0
      ? 'Spikes of latency are not noted: latency-monitor-threshold is 0. To note commands that ' +
        'take 100 ms or longer: CONFIG SET latency-monitor-threshold 100\n'
      : events.length === 0
        ? `No command has taken ${thresholdMs} ms or longer since this was last reset.\n`
        : `${events.map(adviceOf).join('\n')}\nSLOWLOG GET shows the commands; a write waits for ` +
          'the disks of a quorum, so look at log_sync_usec_p99 of INFO storage as well.\n';
  return { kind: 'verbatim', format: 'txt', text };
};

function adviceOf({ name, samples, worstMilliseconds }: LatencyEvent): string {
  const sum = samples.reduce((total, { milliseconds }) => total + milliseconds, 0);
  const average = Math.round(sum / samples.length);
  return (
    `${name}: ${samples.length} spikes, ${average} ms on average, ` +
    `${worstMilliseconds} ms at worst.`
  );
}

/** LATENCY HISTOGRAM [command ...]: cumulative counts at powers of two; a container: its subcommands. */
const histogram: Run = (args, context) => {
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

export const latencyCommands: readonly Command[] = [
  container(
    'latency',
    '2.8.13',
    'A container for latency diagnostics.',
    ['admin', 'noscript', 'loading', 'stale'],
    [
      ['latest', 2, '2.8.13', 'Returns the last spike of every event.', latest],
      ['history', 3, '2.8.13', 'Returns the spikes of an event.', history],
      ['reset', -2, '2.8.13', 'Forgets the spikes of some or all events.', reset],
      ['graph', 3, '2.8.13', 'Draws the spikes of an event.', graph],
      ['doctor', 2, '2.8.13', 'Tells in words what the spikes say.', doctor],
      ['histogram', -2, '7.0.0', 'Returns how long commands take.', histogram],
    ],
  ),
];
