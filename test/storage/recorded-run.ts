/**
 * A datanode under strace and under load: what it did to its files, what it acknowledged and when.
 * Each connection writes growing numbers under keys of its own, a few commands ahead of the replies;
 * one of five keys is a stream that gets each number as an entry's ID.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Random, seededRandom } from '../../src/common/random.ts';
import type { MetaItem } from '../../src/meta/store.ts';
import { eventually, pause, within } from '../cluster/cluster.ts';
import { type History, readHistory, tracedCalls } from './file-history.ts';
import { lastingItems } from './lone-node.ts';

const CONNECTIONS = 4;
const KEYS_PER_CONNECTION = 25;
const AHEAD = 4;
const VALUE_BYTES_MAX = 6_000;
const STRING_BYTES_MAX = 4 * 1_024 * 1_024;
const STREAM_EVERY = 5;
/** What tells that writes are done: OK, or the ID of a stream's entry. */
const ANSWERS = /^((\+OK|\$\d+\r\n\d+-0)\r\n)*/;
const ANSWER_ENDS = /(\+OK|-0)\r\n/g;
const answersIn = (text: string) => text.match(ANSWER_ENDS)?.length ?? 0;

export interface RecordedRun {
  readonly history: History;
  readonly items: readonly (readonly [string, MetaItem])[];
  readonly writers: readonly RecordedWriter[];
}

export interface Sent {
  readonly key: string;
  readonly value: string;
  /** An entry of a stream; else a string. */
  readonly isEntry: boolean;
}

/** One connection. */
export class RecordedWriter {
  /** In the order in which they were sent, the first with number 1. */
  readonly sent: Sent[] = [];
  readonly name: string;
  readonly #socket: Socket;
  readonly #random: Random;
  #answered = 0;
  #heard = '';
  #stopped = false;
  failure: string | undefined;

  constructor(name: string, port: number) {
    this.name = name;
    this.#random = seededRandom(name);
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('connect', () => this.#send());
    this.#socket.on('data', (chunk) => this.#hear(chunk.toString('latin1')));
    this.#socket.on('error', (error) => {
      this.failure ??= error.message;
    });
  }

  get port(): number {
    return this.#socket.localPort!;
  }

  get answered(): number {
    return this.#answered;
  }

  get isIdle(): boolean {
    return this.failure !== undefined || (this.#stopped && this.#answered === this.sent.length);
  }

  stop(): void {
    this.#stopped = true;
  }

  close(): void {
    this.#socket.destroy();
  }

  #send(): void {
    while (!this.#stopped && this.sent.length - this.#answered < AHEAD) {
      const number = this.sent.length + 1;
      const key = `${this.name}:${number % KEYS_PER_CONNECTION}`;
      const isEntry = number % STREAM_EVERY === 0;
      const value = `${number} `.padEnd(8 + this.#random.below(VALUE_BYTES_MAX), `${number},`);
      this.sent.push({ key, value, isEntry });
      const line = isEntry ? ['XADD', key, `${number}-0`, 'value', value] : ['SET', key, value];
      const words = line.map((word) => `$${word.length}\r\n${word}\r\n`);
      this.#socket.write(`*${line.length}\r\n${words.join('')}`);
    }
  }

  #hear(text: string): void {
    this.#heard += text;
    const answers = ANSWERS.exec(this.#heard)![0];
    this.#heard = this.#heard.slice(answers.length);
    this.#answered += answersIn(answers);
    if (this.#heard.startsWith('-')) this.failure ??= this.#heard.slice(0, 200);
    this.#send();
  }
}

export interface RecordOptions {
  /** The node's; made when it is not there. */
  readonly dir: string;
  /** Where strace writes. */
  readonly trace: string;
  /** How long it writes, and how many writes are acknowledged at least. */
  readonly loadMs: number;
  readonly writesMin: number;
  /** An earlier run of the same cluster. */
  readonly after?: RecordedRun;
  /** Of the connections. */
  readonly name: string;
}

export async function recordRun(options: RecordOptions): Promise<RecordedRun> {
  const { dir, trace, loadMs, writesMin, after, name } = options;
  const here = import.meta.dirname;
  const dist = join(here, '..', '..', 'dist');
  const flags = ['-f', '-yy', '-xx', '-s', String(STRING_BYTES_MAX), '-o', trace];
  const node = [process.execPath, join(here, 'power-node.mjs'), dist, dir];
  if (after !== undefined) {
    node.push(`${trace}.items`);
    writeFileSync(`${trace}.items`, JSON.stringify(lastingItems(after.items)));
  }
  const child = spawn('strace', [...flags, '-e', `trace=${tracedCalls.join(',')}`, ...node], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  try {
    const first = createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
    const { value } = await within(
      90_000,
      Promise.race([first, fails(ended, () => errors)]),
      () => errors,
    );
    const { gateway, items } = JSON.parse(value) as {
      gateway: number;
      items: [string, MetaItem][];
    };
    const writers = Array.from(
      { length: CONNECTIONS },
      (_, at) => new RecordedWriter(`${name}${at}`, gateway),
    );
    await pause(loadMs);
    await eventually(120_000, `${writesMin} writes are acknowledged`, () => {
      const failed = writers.some(({ failure }) => failure !== undefined);
      return failed || writers.reduce((sum, { answered }) => sum + answered, 0) >= writesMin;
    });
    for (const writer of writers) writer.stop();
    while (!writers.every(({ isIdle }) => isIdle)) await pause(10);
    const ports = writers.map(({ port }) => port);
    for (const [at, writer] of writers.entries()) {
      if (writer.failure !== undefined) throw new Error(`${writer.name}: ${writer.failure}`);
      Object.defineProperty(writer, 'port', { value: ports[at] });
    }
    child.stdin.end();
    await within(90_000, ended, () => 'strace does not end');
    for (const writer of writers) writer.close();
    return { history: await readHistory(trace, dir), items, writers };
  } finally {
    child.kill('SIGKILL');
  }
}

async function fails(ended: Promise<void>, errors: () => string): Promise<never> {
  await ended;
  throw new Error(`the recorded node ended: ${errors()}`);
}

/** How many commands of `writer` were acknowledged before `moment`. */
export function acknowledgedBefore(
  { history }: RecordedRun,
  { port }: RecordedWriter,
  moment: number,
): number {
  let count = 0;
  for (const { to, answers, ended } of answersOf(history)) {
    if (ended <= moment && to === port) count += answers;
  }
  return count;
}

/** By history: each is asked about hundreds of moments. */
const answersKnown = new WeakMap<History, readonly Answers[]>();

interface Answers {
  /** Port of who was answered. */
  readonly to: number;
  readonly answers: number;
  readonly ended: number;
}

function answersOf(history: History): readonly Answers[] {
  const known = answersKnown.get(history);
  if (known !== undefined) return known;
  const all = history.sent.map(({ socket, bytes, ended }) => ({
    to: Number(/:(\d+)\]$/.exec(socket)?.[1]),
    answers: answersIn(bytes.toString('latin1')),
    ended,
  }));
  answersKnown.set(history, all);
  return all;
}
