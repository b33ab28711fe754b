/**
 * A program: the clients of timed-clients.ts, in a process of its own so that what they cost is
 * counted apart. Takes a TimedLoad as JSON in its only argument; prints BEGIN when it is warm and
 * begins to measure, and a TimedLoadResult as JSON when it has measured.
 */
import { openPlaces, TimedClients } from './timed-clients.ts';
import { BEGIN, type TimedLoad, type TimedLoadResult } from './timed-load-words.ts';

async function main(told: TimedLoad): Promise<TimedLoadResult> {
  const load = new TimedClients(told, await openPlaces(told));
  try {
    await load.run(told.warmSeconds);
    load.forget();
    process.stdout.write(`${BEGIN}\n`);
    const cpu = process.cpuUsage();
    const began = performance.now();
    await load.run(told.seconds);
    const seconds = (performance.now() - began) / 1_000;
    const { user, system } = process.cpuUsage(cpu);
    const sorted = Float64Array.from(load.latencies).sort();
    const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
    return {
      perSecond: sorted.length / seconds,
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      p999Ms: at(0.999),
      foundShare: load.foundShare,
      cpuSeconds: (user + system) / 1e6,
    };
  } finally {
    load.close();
  }
}

const [, , given] = process.argv;
if (given === undefined) throw new Error('timed-load: a TimedLoad as JSON is missing');
try {
  const result = await main(JSON.parse(given) as TimedLoad);
  process.stdout.write(`${JSON.stringify(result)}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}
