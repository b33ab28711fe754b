/**
 * A program: the clients of fill-clients.ts, in a process of its own, so that they do not take turns
 * with what measures. Takes a FillLoad as JSON in its only argument; prints a FillResult as JSON.
 */
import { fillCluster } from './fill-clients.ts';
import type { FillLoad } from './fill-words.ts';

const [, , given] = process.argv;
if (given === undefined) throw new Error('fill-load: a FillLoad as JSON is missing');
try {
  const result = await fillCluster(JSON.parse(given) as FillLoad);
  process.stdout.write(`${JSON.stringify(result)}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exit(1);
}
