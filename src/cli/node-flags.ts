/** Options of Node.js and of the C library that our processes run best with. */
import { availableParallelism } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import type { ProcessPlan } from './cluster-dir.ts';

/**
 * A datanode allocates about 200 MB/s under load, almost all of it garbage within a turn. V8 lets
 * the space for young objects grow only while much survives, so it would stay at 1 MiB and be
 * collected hundreds of times a second, each time promoting whatever is under way. 16 MiB from the
 * start measured 14 % less CPU time per GET. 8 measure the same for GETs and SETs one at a time, and 25
 * MB less; but of SETs in deep pipelines what waits for its engine batch outlives two collections then:
 * 35.9 µs of all nodes' CPU for 33.6 (see `tuneHeap`).
 */
const DATANODE_FLAGS = ['--min-semi-space-size=16', '--max-semi-space-size=16'];

/**
 * V8 collects with the help of threads, and waits until all of them are done. Where datanodes are
 * more than cores, a helper may get no core for a while, and keeps all requests waiting: without
 * helpers p99 of SETs fell by a quarter at 2,000/s (three datanodes, two cores, two runs in turns: 11
 * and 12 ms, then 8 and 9) and by half at 4,000/s (25 and 29, then 12 and 13), and throughput stayed.
 * Full collections have no help either: the longest of a mixed load took 37 ms for 25, all of them
 * together less than before.
 */
const CROWDED_FLAGS = ['--single-threaded-gc'];

/**
 * V8 13.6 and newer, of Node.js 24 and 26, need threads for full collections: without, marking takes so
 * long that old space overshoots its room twofold, and the pages it leaves are kept. RssAnon
 * of one mixed load was 335 to 408 MB so and 216 with them (Node.js 26: 349 and 217; 20: 186 without).
 */
const CROWDED_FLAGS_24 = ['--no-parallel-scavenge'];
const NEEDS_THREADS = 24;

/**
 * What to put before the script when a process of `role` is started, where so many datanodes share
 * this machine; `node`: the major version of Node.js.
 */
export function nodeFlags(
  role: ProcessPlan['role'],
  datanodes: number,
  cores = availableParallelism(),
  node = Number.parseInt(process.versions.node, 10),
): readonly string[] {
  if (role !== 'datanode') return [];
  if (datanodes <= cores) return DATANODE_FLAGS;
  return [...DATANODE_FLAGS, ...(node < NEEDS_THREADS ? CROWDED_FLAGS : CROWDED_FLAGS_24)];
}

/**
 * Each pair read from LevelDB is two small pieces of memory of the C library. glibc puts small pieces
 * aside when they are freed, by the ten thousand after each collection of garbage, and joins them
 * with their neighbours all at once when something large is asked for: that held the event loop for
 * 5 to 15 ms, again and again, while a large collection was read. With the first of these they are
 * joined as they are freed, on V8's thread.
 *
 * Even then a small piece that is asked for walks all that were freed since, 10,000 at most, each
 * time 1.1 ms, twice and more in a turn; with the second it stops at the 32nd once it has found one
 * that fits. SET, GET and SMEMBERS take as much CPU time as without (paired runs). Other C libraries
 * look at neither.
 *
 * Of arenas there are two, not as many as glibc likes: some 20 MB less at the peak of a mixed load, where
 * memory is short, and 235 MB for 195 with a thousand idle groups, where it is not.
 */
const MALLOC_TUNABLES = {
  'glibc.malloc.arena_max': 2,
  'glibc.malloc.mxfast': 0,
  'glibc.malloc.tcache_unsorted_limit': 32,
};

/** The environment to start a process with: `given`, and what glibc has to know from the start. */
export function nodeEnvironment(given: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const told = given['GLIBC_TUNABLES'] ?? '';
  const ours = Object.entries(MALLOC_TUNABLES)
    .filter(([name]) => !told.includes(name))
    .map(([name, value]) => `${name}=${value}`);
  if (ours.length === 0) return given;
  return { ...given, GLIBC_TUNABLES: [told, ...ours].filter(Boolean).join(':') };
}

/** What `tuneHeap` says. */
export const HEAP_FLAGS = ['--heap-growing-percent=100', '--no-allocation-site-pretenuring'];

/**
 * Two habits of V8 that do not suit processes whose load changes. V8s without these flags say so and
 * go on.
 *
 * It lets the space of old objects grow up to fourfold between two collections while little of it
 * lives. Under deep pipelines of writes that is 100 MB and more of what was promoted on its way to
 * the disk. As much again as lives is enough. Less of it costs those writes time, for each collection
 * marks all that the program's modules are: 16 in a pipeline a SET took 37.9 µs of all nodes' CPU with
 * two fifths and a young space of 8 MiB, 35.9 with as much again, 33.6 with 16 MiB too (two runs of
 * each in turns), and a datanode 133, 153 and 183 MB of RssAnon.
 *
 * And it remembers where objects were made that outlived a collection, and makes all that are made
 * there later in old space. Under writes a request outlives many collections, until the disk has it;
 * from then on each read left a kilobyte in old space, with its write barriers and full collections.
 * Without that GETs measured 1.14 times as fast one at a time and 1.4 times 16 at a time, SETs the
 * same (two clusters in turns, after 300,000 SETs).
 */
export function tuneHeap(): void {
  for (const flag of HEAP_FLAGS) setFlagsFromString(flag);
}
