/**
 * A bulk load of keys in their order, with values of 100 bytes: whether the last part goes as fast as
 * the first, and what the data directory of a datanode takes when it has come to rest.
 */
import { bytesOnDisk, untilQuiet } from './directory-size.ts';
import { fill } from './fill.ts';
import { rawBytes } from './fill-words.ts';
import { type RunningKvorum, startKvorum } from './kvorum-cluster.ts';
import type { Scenario, Stage } from './scenario.ts';
import { round } from './sheet.ts';
import type { Judged } from './targets.ts';

const VALUE_BYTES = 100;
const PART = 1_000_000;
const PARTS_MIN = 10;
const START_SECONDS = 15;
const KEYS_PER_SECOND = 20_000;
const QUIET_MS = 15_000;
const COMPACT_MS = 180_000;

export const bulk: Scenario = {
  text: 'bulk load: the last part against the first, disk against raw data',
  seconds: ({ bulk: keys }) => START_SECONDS + keys / KEYS_PER_SECOND + COMPACT_MS / 2_000,
  async measure(stage) {
    const kvorum = await startKvorum(stage.directory);
    try {
      const rates = await load(stage, kvorum);
      return await judge(stage, kvorum, rates);
    } finally {
      await kvorum.stop();
    }
  },
};

/** Keys a second of each part. */
async function load(stage: Stage, kvorum: RunningKvorum): Promise<readonly number[]> {
  const keys = stage.options.bulk;
  const part = Math.min(PART, Math.floor(keys / PARTS_MIN));
  const rates: number[] = [];
  for (let first = 0; first + part <= keys; first += part) {
    const told = { port: kvorum.clusterPort, first, count: part, valueBytes: VALUE_BYTES };
    rates.push(await fill(told));
    kvorum.check();
    const done = (first + part).toLocaleString('en-US');
    stage.progress(`bulk: ${done} keys, ${round(rates.at(-1)!)}/s`);
  }
  return rates;
}

async function judge(
  { options, progress }: Stage,
  { datanodes }: RunningKvorum,
  rates: readonly number[],
): Promise<readonly Judged[]> {
  const directories = datanodes.names.map((name) => datanodes.directory(name));
  const isQuiet = await untilQuiet(directories, QUIET_MS, COMPACT_MS);
  if (!isQuiet) progress(`bulk: files still change after ${COMPACT_MS / 1_000} s`);
  const part = Math.min(PART, Math.floor(options.bulk / PARTS_MIN));
  const raw = rawBytes({ count: part * rates.length, valueBytes: VALUE_BYTES });
  const most = Math.max(...directories.map(bytesOnDisk));
  const engines = Math.max(...directories.map((path) => bytesOnDisk(`${path}/engines`)));
  const count = (part * rates.length).toLocaleString('en-US');
  const [first = Number.NaN, last = Number.NaN] = [rates[0], rates.at(-1)];
  const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;
  return [
    {
      text: 'bulk load: last part against the first',
      ...{ unit: '×', better: 'more', reach: 0.7, goal: 0.9, measured: last / first },
      note: `${count} keys of 100 bytes; parts of ${part.toLocaleString('en-US')}: first ${round(first)}/s, last ${round(last)}/s`,
    },
    {
      text: 'bulk load: disk against raw data',
      ...{ unit: '×', better: 'less', reach: 1.6, goal: 1.3, measured: most / raw },
      note:
        `${megabytes(raw)} raw, ${megabytes(most)} on a datanode with its log, ` +
        `${megabytes(engines)} of it in engines${isQuiet ? '' : '; not at rest yet'}`,
    },
  ];
}
