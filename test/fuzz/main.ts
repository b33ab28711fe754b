/** The fuzzer's command line; `npm run fuzz -- --help`. */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { fuzz } from './engine/campaign.ts';
import { type RoomName, rooms } from './rooms/all.ts';

const HELP = `Bends valid inputs of every door, and watches what the product does with them.

  npm run fuzz -- [options]

  --inputs N       how many, over all rooms by their shares (default 100000)
  --minutes N      ends after so many minutes at the latest
  --about ROOM     one room alone: ${Object.keys(rooms).join(', ')}
  --seed N         draws other inputs (default 1)
  --input FILE     judges this one input of the room that --about names, and ends
  --help           this text

A failing input is written to .cache/fuzz-inputs and named with the command that judges it again. The
same seed and number of inputs give the same inputs. Ends with exit code 1 at the first that fails:
an exception, more than 1 s, or memory that grows.`;

const inputsFolder = '.cache/fuzz-inputs';

/** Ctrl-C ends with what was judged until then; a second one at once. */
let interrupted = false;
process.once('SIGINT', () => {
  interrupted = true;
});

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      inputs: { type: 'string', default: '100000' },
      minutes: { type: 'string' },
      about: { type: 'string' },
      seed: { type: 'string', default: '1' },
      input: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    say(HELP);
    return 0;
  }
  const names = Object.keys(rooms) as RoomName[];
  if (values.about !== undefined && !(values.about in rooms)) {
    say(`--about: one of ${names.join(', ')}`);
    return 2;
  }
  const chosen = values.about === undefined ? names : [values.about as RoomName];
  if (values.input !== undefined) return judgeOne(chosen[0]!, values.input);
  const minutes = values.minutes === undefined ? Number.POSITIVE_INFINITY : Number(values.minutes);
  return fuzz(await Promise.all(chosen.map((name) => rooms[name]())), {
    inputs: Number(values.inputs),
    seed: Number(values.seed),
    untilMs: Date.now() + minutes * 60_000,
    folder: inputsFolder,
    say,
    isInterrupted: () => interrupted,
  });
}

async function judgeOne(name: RoomName, file: string): Promise<number> {
  const room = await rooms[name]();
  const began = performance.now();
  say(`${name}: ${await room.judge(readFileSync(file))}`);
  say(`${(performance.now() - began).toFixed(1)} ms`);
  await room.close?.();
  return 0;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

process.exitCode = await main();
