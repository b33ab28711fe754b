/**
 * How long commands over large collections and strings hold the event loop of a whole node: real
 * log, real LevelDB, real sockets. Prints a table; asserts what no noise of a shared machine
 * explains (`npm run bench -- --only holds` tells the figures beside their bound). KVORUM_HOLDS names
 * the groups that run (points reads writes carrying values) and single commands, all by default.
 * The shortest of several runs counts: whoever else runs only makes them longer, and a
 * hypervisor that takes the machine away in the midst of a turn is charged to the turn.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  commandOf,
  filling,
  type Group,
  type Held,
  heldOf,
  pointsOf,
} from '../../bench/holds/commands.ts';
import { encode, ForgetfulClient, type Line } from '../../bench/holds/forgetful-client.ts';
import { HEAD_LINE, lineOf, measureHold } from '../../bench/holds/measure.ts';
import { threadCpuMs } from '../../bench/holds/turns.ts';
import { tuneHeap } from '../../src/cli/node-flags.ts';
import { fsDisk } from '../../src/common/fs-disk.ts';
import { scale } from '../scale.ts';
import { LoneNode } from './lone-node.ts';

const MIB = 1_048_576;
const COUNT = scale.holdElements;
/** A run above this is repeated, so often at most: it tells of the command or of the machine. */
const ENOUGH_MS = 5;
const RUNS_MAX = 8;
/** No further run is begun then: one over a million elements takes long. */
const RUNNING_MS_MAX = 15_000;
/**
 * Commands over elements, and of thousands of arguments, go in slices of a few milliseconds; without
 * them most take 10 to 110 ms of 8,000 elements (seen with a pace that never pauses). A machine that
 * is busy makes any turn longer, and the whole command with it: a turn that is no more than this
 * share of it is a slice.
 */
const SLICED_MS_MAX = 25;
const SLICE_MS = 10;
const SLICE_SHARE_MAX = 0.5;
/** Values of 16 MiB are read and edited at once. */
const WHOLE_MS_MAX = 150;
/** For a group of commands: a million elements take half an hour on a machine with other work. */
const GROUP_MS_MAX = 3_600_000;

const dir = mkdtempSync(join(tmpdir(), 'kvorum-holds-'));
const node = new LoneNode(dir, undefined, fsDisk, {
  segmentBytes: 64 * MIB,
  writeBufferBytes: 4 * MIB,
});
let client: ForgetfulClient;
const table: string[] = [];

// as a datanode's process does
tuneHeap();
// Steps in which V8 marks garbage beside the program are not among the collections it tells of, and
// would count as ours: all marking goes into the collections.
setFlagsFromString('--no-incremental-marking');

beforeAll(async () => {
  node.startDriver();
  await node.start();
  client = new ForgetfulClient(node.datanode.ports.gateway);
  for (const line of filling(COUNT)) await client.call(line);
}, GROUP_MS_MAX);

afterAll(async () => {
  process.stdout.write(
    `${COUNT} elements, best of ${RUNS_MAX} runs at most; ${HEAD_LINE}\n${table.join('\n')}\n`,
  );
  client.end();
  await node.stop();
  rmSync(dir, { recursive: true, force: true });
}, 300_000);

/** Those that read or write a value of megabytes. */
const ofValues = new Set(['big', 'ones', 'text1'].map((name) => `{t}${name}`));

function limitOf({ lines }: Held): number {
  const [line] = lines;
  return line!.some((word) => ofValues.has(String(word))) ? WHOLE_MS_MAX : SLICED_MS_MAX;
}

/** Commands of a pipeline of point operations. */
const POINTS = 100;
/** Far more than they take, and far less than a walk over a million elements. */
const POINT_MICROSECONDS_MAX = 10_000;

/** CPU time of one command: of this thread, with the client's and the node's share of it. */
async function pointMicroseconds(words: (at: number) => Line): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 3; run++) {
    const places = Array.from({ length: POINTS }, (_, at) => (at * 7_907 + run * 31) % COUNT);
    const requests = encode(places.map(words));
    const began = threadCpuMs();
    await client.send(requests);
    best = Math.min(best, ((threadCpuMs() - began) / POINTS) * 1_000);
  }
  return best;
}

const GROUPS: readonly Group[] = ['reads', 'writes', 'carrying', 'values'];
const asked = process.env['KVORUM_HOLDS']?.toLowerCase().split(/[ ,]+/);
const isAsked = (word: string) => asked === undefined || asked.includes(word);
/** Of a group those that were asked for: with it, or by their names. */
const heldsOf = (group: Group, count: number) =>
  heldOf[group](count).filter((held) => isAsked(group) || isAsked(commandOf(held)));

test.runIf(isAsked('points'))(
  'point operations take microseconds, however many elements there are',
  async () => {
    for (const words of pointsOf(COUNT)) {
      const microseconds = await pointMicroseconds(words);
      table.push(`${microseconds.toFixed(0).padStart(8)} µs of CPU  ${words(7).join(' ')}`);
      expect(microseconds, words(7).join(' ')).toBeLessThan(POINT_MICROSECONDS_MAX);
    }
  },
  400_000,
);

describe('the longest hold of the event loop', () => {
  for (const group of GROUPS) {
    test.runIf(heldsOf(group, 1).length > 0)(`by ${group}`, { timeout: GROUP_MS_MAX }, async () => {
      for (const held of heldsOf(group, COUNT)) {
        const limitMs = limitOf(held);
        const hold = await measureHold(client, held, {
          ...{ min: 1, max: RUNS_MAX, runningMs: RUNNING_MS_MAX, limitMs },
          // what values of megabytes take is known to be more, and only bounded
          enoughMs: limitMs === SLICED_MS_MAX ? ENOUGH_MS : limitMs,
        });
        table.push(lineOf(hold));
        process.stdout.write(`${table.at(-1)}\n`);
        expect(hold.ownMs, hold.name).toBeLessThan(limitMs);
        if (limitMs === SLICED_MS_MAX && hold.ownMs > SLICE_MS)
          expect(hold.ownMs / hold.totalCpuMs, hold.name).toBeLessThan(SLICE_SHARE_MAX);
      }
    });
  }
});
