/**
 * How long writes wait while a leader hands over: the longest that one write waited, from when it was
 * sent to its answer, from half a second before the new leader is first seen until a moment after it.
 * Three clients, one at the gateway of each node, write to the partition one after the other. On a
 * busy machine writes wait without a transfer, too, and the longer one looks the longer the longest
 * wait: so what is compared, without a transfer, is looked at for as long; and of the whole time from
 * the request to the placedriver, one to three seconds, the longest wait is told as well.
 */
import { pause } from '../tools/children.ts';
import { tagsOf } from './key-tags.ts';
import { type RunningKvorum, startKvorum } from './kvorum-cluster.ts';
import { order } from './operator.ts';
import { percentile } from './percentile.ts';
import { type Accepted, Probe } from './probe.ts';
import type { Scenario, Stage } from './scenario.ts';
import type { Judged } from './targets.ts';

const START_SECONDS = 15;
const TRANSFER_SECONDS = 3;
/** After tries that led to nothing a leader waits half a minute before the next. */
const TRANSFER_MS = 60_000;
/** Around the moment in which the new leader is first seen; a look takes some 50 ms. */
const BEFORE_MS = 500;
const AFTER_MS = 300;

interface Pause {
  readonly duringMs: number;
  /** As long as that, before the transfer is asked for. */
  readonly quietMs: number;
  /** From the request on. */
  readonly wholeMs: number;
}

export const transfer: Scenario = {
  text: 'pause of writes while a leader is transferred',
  seconds: ({ transfers }) => START_SECONDS + transfers * TRANSFER_SECONDS,
  async measure(stage) {
    const kvorum = await startKvorum(stage.directory);
    try {
      return judge(await transferAll(stage, kvorum));
    } finally {
      await kvorum.stop();
    }
  },
};

async function transferAll(stage: Stage, kvorum: RunningKvorum): Promise<readonly Pause[]> {
  const { transfers } = stage.options;
  const found: Pause[] = [];
  await kvorum.datanodes.untilSettled(TRANSFER_MS);
  const before = new Map<number, number>();
  for (let at = 0; at < transfers; at++) {
    const next = nextTransfer(await leadersOf(kvorum), kvorum.datanodes.names, before);
    before.set(next.partition, at);
    found.push(await transferOne(kvorum, next));
    const last = found.at(-1)!;
    if ((at + 1) % 10 === 0 || at + 1 === transfers) {
      const shown = `${last.duringMs.toFixed(1)} ms, without ${last.quietMs.toFixed(1)} ms`;
      stage.progress(`transfer: ${at + 1} of ${transfers}, the last ${shown}`);
    }
  }
  return found;
}

interface Transfer {
  readonly partition: number;
  readonly to: string;
}

/**
 * From the node that leads most to the one that leads fewest, so that the placedriver has nothing to
 * put right; of its partitions the one whose last transfer (`before`: at which step) is longest ago.
 * `leaders`: by partition.
 */
export function nextTransfer(
  leaders: readonly string[],
  names: readonly string[],
  before: ReadonlyMap<number, number>,
): Transfer {
  const count = (name: string) => leaders.filter((leader) => leader === name).length;
  const [to = '', ...others] = [...names].sort((a, b) => count(a) - count(b));
  const most = Math.max(...others.map(count));
  const partitions = [...leaders.keys()].filter((partition) => {
    const leader = leaders[partition]!;
    return leader !== to && count(leader) === most;
  });
  const age = (partition: number) => before.get(partition) ?? -1;
  const [partition = 0] = partitions.sort((a, b) => age(a) - age(b));
  return { partition, to };
}

async function transferOne(kvorum: RunningKvorum, { partition, to }: Transfer): Promise<Pause> {
  const { datanodes, partitions, httpPort } = kvorum;
  const [tag] = tagsOf([partition], partitions);
  const ports = datanodes.names.map((name) => datanodes.gatewayPort(name));
  const probes = await Promise.all(ports.map((port) => Probe.open(port, `{${tag}}:transfer`)));
  const writes: Accepted[] = [];
  try {
    const ended = Promise.all(probes.map((probe) => probe.writeOn(0, (one) => writes.push(one))));
    const quietMs = performance.now();
    await pause(BEFORE_MS + AFTER_MS);
    const beganMs = performance.now();
    const path = `/v1/namespaces/default/partitions/${partition}/transfer-leader`;
    await order(httpPort, ['POST', path], { to }, TRANSFER_MS);
    await datanodes.until(TRANSFER_MS, `${to} leads partition ${partition}`, async () => {
      kvorum.check();
      return ((await datanodes.status(to)) ?? []).some(
        (replica) => replica.partition === partition && replica.role === 'leader',
      );
    });
    const seenMs = performance.now();
    await pause(AFTER_MS);
    const overMs = performance.now();
    for (const probe of probes) probe.close();
    await ended;
    return {
      duringMs: longestWait(writes, Math.max(beganMs, seenMs - BEFORE_MS), overMs),
      wholeMs: longestWait(writes, beganMs, overMs),
      quietMs: longestWait(writes, quietMs, beganMs),
    };
  } finally {
    for (const probe of probes) probe.close();
  }
}

/** The longest wait of a write that was sent in the window. */
export function longestWait(writes: readonly Accepted[], fromMs: number, toMs: number): number {
  const within = writes.filter(({ sentMs }) => sentMs >= fromMs && sentMs < toMs);
  return Math.max(0, ...within.map(({ sentMs, answeredMs }) => answeredMs - sentMs));
}

/** Who leads each partition, once all are led. */
async function leadersOf({ datanodes, partitions }: RunningKvorum): Promise<readonly string[]> {
  const leaders: string[] = [];
  await datanodes.until(TRANSFER_MS, 'every partition is led', async () => {
    for (const name of datanodes.names) {
      for (const { partition, role } of (await datanodes.status(name)) ?? []) {
        if (role === 'leader') leaders[partition] = name;
      }
    }
    return Object.keys(leaders).length === partitions;
  });
  return leaders;
}

function judge(found: readonly Pause[]): readonly Judged[] {
  const quiet = percentile(
    found.map(({ quietMs }) => quietMs),
    0.5,
  );
  const during = found.map(({ duringMs }) => duringMs);
  const whole = percentile(
    found.map(({ wholeMs }) => wholeMs),
    0.99,
  );
  const median = percentile(during, 0.5);
  return [
    {
      text: 'leader transfer, pause p99',
      ...{ unit: 'ms', better: 'less', reach: 80, goal: 20, measured: percentile(during, 0.99) },
      note:
        `${found.length} transfers, p50 ${median.toFixed(1)} ms; the longest wait in as long a time ` +
        `without a transfer, p50 ${quiet.toFixed(1)} ms; from the request on, p99 ${whole.toFixed(1)} ms`,
    },
  ];
}
