/** Rows as a run of the benchmark makes them, for tests of what is computed from them. */
import type { ProcessMemory, Row } from '../../bench/results.ts';
import type { Door, SystemName } from '../../bench/system.ts';

interface RowChoices extends Partial<Omit<Row, 'door' | 'system' | 'usage'>> {
  readonly servers?: Readonly<Record<string, number>>;
  readonly load?: number;
  readonly otherCores?: number;
}

/** Unless chosen: SET, pipeline 1, 50 clients, 100-byte values, 1,000 a second, on an idle machine. */
export function rowOf(door: Door, choices: RowChoices = {}): Row {
  const { servers = {}, load = 1, otherCores = 0, ...row } = choices;
  return {
    ...{ round: 1, system: door.split(' ')[0] as SystemName, door },
    ...{ test: 'SET', pipeline: 1, clients: 50, valueBytes: 100 },
    ...{ perSecond: 1_000, p50Ms: 1, p99Ms: 2 },
    usage: { seconds: 8, servers, load, otherCores },
    ...row,
  };
}

export function memoryOf(name: string, endBytes: number, peakBytes: number): ProcessMemory {
  return { round: 1, system: 'kvorum', name, endBytes, peakBytes };
}
