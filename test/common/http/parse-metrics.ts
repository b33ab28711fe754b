/**
 * Reads the text format of Prometheus strictly: every sample belongs to a family announced before
 * it with HELP and TYPE, no series comes twice, buckets grow up to their count. Throws otherwise.
 */
import { assert } from '../../../src/common/assert.ts';

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"(?:,|$)/y;

export class Metrics {
  readonly types: ReadonlyMap<string, string>;
  readonly #samples: readonly Sample[];

  constructor(types: ReadonlyMap<string, string>, samples: readonly Sample[]) {
    this.types = types;
    this.#samples = samples;
  }

  samples(name: string): readonly Sample[] {
    return this.#samples.filter((sample) => sample.name === name);
  }

  /** The one sample with these labels (others may be there too). */
  value(name: string, labels: Readonly<Record<string, string>> = {}): number {
    const found = this.samples(name).filter((sample) =>
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    );
    assert(found.length === 1, `${found.length} samples of ${name} ${JSON.stringify(labels)}`);
    return found[0]!.value;
  }
}

export function parseMetrics(text: string): Metrics {
  assert(text.endsWith('\n'), 'the last line ends');
  const types = new Map<string, string>();
  const helps = new Set<string>();
  const samples: Sample[] = [];
  const seen = new Set<string>();
  let family = '';
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, kind, name, rest] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (kind === 'HELP') {
      assert(!helps.has(name!), `${name} is announced once`);
      helps.add(name!);
    } else if (kind === 'TYPE') {
      assert(helps.has(name!) && !types.has(name!), `${name} has its help before its type`);
      types.set(name!, rest!);
      family = name!;
    } else {
      const sample = parseSample(line);
      assert(belongs(sample.name, family, types.get(family)!), `${line} belongs to ${family}`);
      const series = `${sample.name} ${JSON.stringify(Object.entries(sample.labels).sort())}`;
      assert(!seen.has(series), `${series} comes once`);
      seen.add(series);
      samples.push(sample);
    }
  }
  checkHistograms(types, samples);
  return new Metrics(types, samples);
}

function belongs(name: string, family: string, type: string): boolean {
  if (type !== 'histogram') return name === family;
  return [`${family}_bucket`, `${family}_sum`, `${family}_count`].includes(name);
}

function parseSample(line: string): Sample {
  const match = LINE.exec(line);
  assert(match, `a sample: ${line}`);
  const labels: Record<string, string> = {};
  const text = match[2] ?? '';
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.length) {
    const label = LABEL.exec(text);
    assert(label, `labels of ${line}`);
    labels[label[1]!] = label[2]!;
  }
  const value = match[3] === '+Inf' ? Number.POSITIVE_INFINITY : Number(match[3]);
  assert(!Number.isNaN(value) || match[3] === 'Nan', `a number in ${line}`);
  return { name: match[1]!, labels, value };
}

function checkHistograms(types: ReadonlyMap<string, string>, samples: readonly Sample[]): void {
  for (const [name, type] of types) {
    if (type !== 'histogram') continue;
    const before = new Map<string, { le: number; count: number }>();
    const key = ({ le: _, ...labels }: Readonly<Record<string, string>>) => JSON.stringify(labels);
    for (const { labels, value } of samples.filter((one) => one.name === `${name}_bucket`)) {
      const le = labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels['le']);
      const last = before.get(key(labels)) ?? { le: 0, count: 0 };
      assert(le > last.le && value >= last.count, `the buckets of ${name} grow`);
      before.set(key(labels), { le, count: value });
    }
    for (const { labels, value } of samples.filter((one) => one.name === `${name}_count`)) {
      const last = before.get(key(labels));
      assert(last?.le === Number.POSITIVE_INFINITY, `${name} ends with +Inf`);
      assert(last.count === value, `${name} counts what its buckets hold`);
    }
  }
}
