/**
 * A program: a node with all of its own (log, LevelDB, sockets) and a client beside it on one event
 * loop, whose longest turn per command is measured. Takes HoldsTold as JSON in its only argument,
 * prints a Hold as JSON per line.
 */
import { setFlagsFromString } from 'node:v8';
import { tuneHeap } from '../../src/cli/node-flags.ts';
import { fsDisk } from '../../src/common/fs-disk.ts';
import { LoneNode } from '../../test/storage/lone-node.ts';
import { commandOf, filling, type Held, heldOf } from './commands.ts';
import { ForgetfulClient } from './forgetful-client.ts';
import type { HoldsTold } from './holds.ts';
import { type Hold, measureHold, type Runs } from './measure.ts';
import { startProfile } from './turn-profile.ts';

const MIB = 1_048_576;
const RUNS: Runs = { min: 1, max: 3, enoughMs: 5, runningMs: 60_000, limitMs: Infinity };

async function main({ directory, elements, groups, only, profile }: HoldsTold): Promise<void> {
  tuneHeap();
  // steps in which V8 marks garbage beside the program are not told of: all go into the collections
  setFlagsFromString('--no-incremental-marking');
  const sizes = { segmentBytes: 64 * MIB, writeBufferBytes: 4 * MIB };
  const node = new LoneNode(directory, undefined, fsDisk, sizes);
  node.startDriver();
  await node.start();
  const client = new ForgetfulClient(node.datanode.ports.gateway);
  const isAsked = (held: Held) => only === undefined || only.includes(commandOf(held));
  for (const group of groups) {
    const helds = heldOf[group](elements).filter(isAsked);
    for (const line of filling(elements, helds)) await client.call(line);
    for (const held of helds) {
      const ending = profile === true ? await startProfile() : undefined;
      const hold: Hold = await measureHold(client, held, RUNS);
      const stacks = await ending?.(hold.longest);
      process.stdout.write(
        `${JSON.stringify(stacks === undefined ? hold : { ...hold, stacks })}\n`,
      );
    }
  }
  client.end();
  await node.stop();
}

const [, , given] = process.argv;
if (given === undefined) throw new Error('holds: HoldsTold as JSON is missing');
try {
  await main(JSON.parse(given) as HoldsTold);
  process.exit(0);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
  process.exit(1);
}
