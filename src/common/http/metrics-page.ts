/**
 * A process's metrics as Prometheus reads them: a table of families, each reading its values from
 * one source that is taken anew for every page. The numbers are counted by their own rooms, cheaply;
 * here they only get names. The only door to prom-client; every page has a registry of its own.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { LatencyHistogram } from '../latency-histogram.ts';

export type Labels = Readonly<Record<string, string | number>>;

export interface Labelled<Value> {
  readonly labels: Labels;
  readonly value: Value;
}

/** Undefined: there is nothing to tell now. */
export type Reading<Value> = Value | readonly Labelled<Value>[] | undefined;

interface FamilyBase {
  readonly name: string;
  /** One line; the unit ends the name, as Prometheus wants it. */
  readonly help: string;
  readonly labels?: readonly string[];
}

export type Family<Source> = FamilyBase &
  (
    | {
        readonly type: 'counter' | 'gauge';
        readonly read: (source: Source) => Reading<number>;
      }
    | {
        /** In seconds. */
        readonly type: 'histogram';
        readonly read: (source: Source) => Reading<LatencyHistogram>;
      }
  );

export interface MetricsPageOptions<Source> {
  readonly families: readonly Family<Source>[];
  /** Also what Node.js tells of the process: CPU, memory, garbage collection, descriptors. */
  readonly process: boolean;
  /** Undefined while there is nothing to read: the page then tells of the process alone. */
  source(): Source | undefined | Promise<Source | undefined>;
}

const MICROSECONDS_PER_SECOND = 1_000_000;

export class MetricsPage<Source> {
  readonly #registry = new Registry();
  readonly #options: MetricsPageOptions<Source>;
  #source: Source | undefined;

  /** Throws when two families share a name, or a name is none. */
  constructor(options: MetricsPageOptions<Source>) {
    this.#options = options;
    for (const family of options.families) this.#register(family);
    if (options.process) collectProcess(this.#registry);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  async text(): Promise<string> {
    this.#source = await this.#options.source();
    return this.#registry.metrics();
  }

  #register(family: Family<Source>): void {
    const { name, help } = family;
    const labelNames = [...(family.labels ?? [])];
    if (family.type === 'histogram') {
      const read = () => this.#read(family.read);
      const histogram = new CountedHistogram({ name, help, labelNames, registers: [] }, read);
      this.#registry.registerMetric(histogram);
      return;
    }
    const read = () => this.#read(family.read);
    const config = { name, help, labelNames, registers: [this.#registry] };
    if (family.type === 'gauge') {
      new Gauge({
        ...config,
        collect() {
          for (const { labels, value } of afresh(this, labelNames, read)) this.set(labels, value);
        },
      });
      return;
    }
    new Counter({
      ...config,
      collect() {
        for (const { labels, value } of afresh(this, labelNames, read)) this.inc(labels, value);
      },
    });
  }

  #read<Value extends object | number>(
    read: (source: Source) => Reading<Value>,
  ): readonly Labelled<Value>[] {
    const reading = this.#source === undefined ? undefined : read(this.#source);
    if (reading === undefined) return [];
    return isList(reading) ? reading : [{ labels: {}, value: reading }];
  }
}

/** What is read now, to be put into `metric` in the place of what it told before. */
function afresh(
  metric: Gauge | Counter,
  labelNames: readonly string[],
  read: () => readonly Labelled<number>[],
): readonly Labelled<number>[] {
  metric.reset();
  // one without labels is 0 again by that, which nobody may have read
  if (labelNames.length === 0) metric.remove();
  return read();
}

/** An event loop that is watched a hundred times a second never rests. */
const LOOP_WATCH_MS = 60_000;
const LOOP_WATCH = 'nodejs_eventloop_lag';

/** All that prom-client tells of a process, but the loop's delay, which LoopMeter watches. */
function collectProcess(register: Registry): void {
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: LOOP_WATCH_MS });
  for (const { name } of register.getMetricsAsArray()) {
    if (name.startsWith(LOOP_WATCH)) register.removeSingleMetric(name);
  }
}

function isList<Value>(
  reading: Value | readonly Labelled<Value>[],
): reading is readonly Labelled<Value>[] {
  return Array.isArray(reading);
}

/** Hands out buckets that were counted elsewhere: prom-client's own cost a microsecond to fill. */
class CountedHistogram extends Histogram {
  readonly #name: string;
  readonly #plain: Histogram;
  readonly #read: () => readonly Labelled<LatencyHistogram>[];

  constructor(
    configuration: ConstructorParameters<typeof Histogram>[0],
    read: () => readonly Labelled<LatencyHistogram>[],
  ) {
    super(configuration);
    this.#name = configuration.name;
    this.#plain = new Histogram(configuration);
    this.#read = read;
  }

  override async get(): ReturnType<Histogram['get']> {
    const values = this.#read().flatMap(({ labels, value }) => samples(this.#name, labels, value));
    return { ...(await this.#plain.get()), values };
  }

  /** What the registry asks when it prints. */
  getForPromString(): ReturnType<Histogram['get']> {
    return this.get();
  }
}

function samples(name: string, labels: Labels, histogram: LatencyHistogram) {
  const { count, sumMicroseconds } = histogram;
  return [
    ...histogram.coarse().map(({ belowMicroseconds, count: below }) => ({
      metricName: `${name}_bucket`,
      labels: { ...labels, le: belowMicroseconds / MICROSECONDS_PER_SECOND },
      value: below,
    })),
    { metricName: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, value: count },
    { metricName: `${name}_sum`, labels, value: sumMicroseconds / MICROSECONDS_PER_SECOND },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
