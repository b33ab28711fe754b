/**
 * What go-zanredisdb does on the wire, scripted: it discovers placedrivers (GET /listpd), asks one of
 * them for the partitions (GET /query/NAMESPACE?epoch=N) every three seconds and when an error says
 * so, deals keys out itself, sends commands to the leader that it was told, and tries again with
 * growing pauses until its ReadTimeout has passed. Its quirks are here on purpose.
 */
import { connect, type Socket } from 'node:net';
import RedisParser from 'redis-parser';
import { murmur3 } from '../../src/common/murmur3.ts';

export type Answer = string | number | null | Answer[];

interface GoNode {
  readonly broadcast_address: string;
  readonly redis_port: string;
}

interface Query {
  readonly epoch: number;
  readonly partition_num: number;
  readonly partitions: Readonly<Record<string, { leader: GoNode; replicas: GoNode[] }>>;
}

interface Partition {
  readonly leader: string;
  readonly replicas: readonly string[];
}

const TEND_MS = 3_000;
/** Set by whoever uses it; a test's machine may be slow. */
const READ_TIMEOUT_MS = 30_000;
const PAUSE_MS_MAX = 2_565;

/** An error reply: what the commands themselves answer ends a request, the rest is tried again. */
class ReplyError extends Error {}

export class ZanSdk {
  /** Retries so far by the beginning of what caused them. */
  readonly retries = new Map<string, number>();
  /** How often a lookup was answered that nothing has changed. */
  unchanged = 0;
  epoch = 0;
  partitions: Partition[] = [];
  readonly #namespace: string;
  readonly #lookups: string[];
  #next = 0;
  readonly #pools = new Map<string, Connection[]>();
  #tending: Promise<void> | undefined;
  #triggers = 0;
  #timer: NodeJS.Timeout | undefined;

  private constructor(namespace: string, lookups: readonly string[]) {
    this.#namespace = namespace;
    this.#lookups = [...lookups];
  }

  static async open(namespace: string, ...lookups: string[]): Promise<ZanSdk> {
    const sdk = new ZanSdk(namespace, lookups);
    await sdk.tend();
    sdk.#timer = setInterval(() => {
      sdk.#triggers = 0;
      void sdk.tend();
    }, TEND_MS);
    return sdk;
  }

  close(): void {
    clearInterval(this.#timer);
    for (const pool of this.#pools.values()) for (const one of pool) one.close();
  }

  get lookups(): readonly string[] {
    return this.#lookups;
  }

  get nodes(): readonly string[] {
    return [...new Set(this.partitions.map(({ leader }) => leader))];
  }

  /** One lookup at a time. */
  tend(): Promise<void> {
    this.#tending ??= this.#tendOnce()
      .catch(() => {})
      .finally(() => {
        this.#tending = undefined;
      });
    return this.#tending;
  }

  /** A command on `table:key`, retried as the SDK does; rejects with what is left then. */
  async do(name: string, key: string, ...args: readonly string[]): Promise<Answer> {
    const began = performance.now();
    let last: unknown;
    for (let tries = 0; tries < 3 || performance.now() - began < READ_TIMEOUT_MS; tries++) {
      try {
        const partition = this.partitions[murmur3(Buffer.from(key)) % this.partitions.length];
        if (!partition?.leader) throw new ReplyError('ERR_CLUSTER_CHANGED no partition node');
        const connection = await this.#connection(partition.leader);
        return await connection.ask(name, `${this.#namespace}:${key}`, ...args);
      } catch (error) {
        last = error;
        if (this.#isFinal(error as Error)) break;
        await pause(Math.min(5 + 5 * 2 ** (tries + 2), PAUSE_MS_MAX));
      }
    }
    throw last;
  }

  /** All keys of a table by one scan on each node, as its channels read them. */
  async scan(command: string, type: string, table: string): Promise<Answer[]> {
    const found: Answer[] = [];
    for (const node of this.nodes) {
      let cursor = '';
      do {
        const connection = await this.#connection(node);
        const at = `${this.#namespace}:${table}:${cursor}`;
        const [next, items] = (await connection.ask(command, at, type, 'count', '100')) as [
          string,
          Answer[],
        ];
        found.push(...items);
        cursor = next;
      } while (cursor !== '');
    }
    return found;
  }

  #isFinal(error: Error): boolean {
    const changed =
      error.message.startsWith('ERR_CLUSTER_CHANGED') || error.message.includes('the node stopped');
    const refused = error.message.toLowerCase().includes('connection refused');
    if (changed || refused) this.#trigger();
    else if (error instanceof ReplyError) return true;
    const why = error.message.split(' : ')[0]!.replace(/ +raft.*| \d.*/, '');
    this.retries.set(why, (this.retries.get(why) ?? 0) + 1);
    return false;
  }

  #trigger(): void {
    this.#triggers++;
    setTimeout(() => void this.tend(), Math.min(5 * this.#triggers, 1_000));
  }

  async #tendOnce(): Promise<void> {
    const lookup = this.#lookups[this.#next++ % this.#lookups.length]!;
    const listed = await get(`http://${lookup}/listpd`);
    for (const { NodeIP, HttpPort } of (listed as { pdnodes: Record<string, string>[] }).pdnodes) {
      const address = `${NodeIP}:${HttpPort}`;
      if (!this.#lookups.includes(address)) this.#lookups.push(address);
    }
    const query = await get(`http://${lookup}/query/${this.#namespace}?epoch=${this.epoch}`);
    if (query === undefined) this.unchanged++;
    else this.#take(query as Query);
  }

  #take(query: Query): void {
    const { epoch, partition_num: count, partitions } = query;
    if (Object.keys(partitions).length !== count || epoch <= this.epoch) return;
    const address = (node: GoNode) => `${node.broadcast_address}:${node.redis_port}`;
    const table: Partition[] = [];
    for (let at = 0; at < count; at++) {
      const { leader, replicas } = partitions[String(at)]!;
      const held = replicas.filter((node) => node.broadcast_address !== '').map(address);
      if (held.length === 0) return;
      const before = this.partitions[at]?.leader ?? '';
      const told = leader.broadcast_address === '' ? before : address(leader);
      // it knows only the nodes of replicas
      table.push({ leader: held.includes(told) ? told : '', replicas: held });
    }
    this.partitions = table;
    this.epoch = epoch;
    const known = new Set(table.flatMap(({ replicas }) => replicas));
    for (const [node, pool] of this.#pools) {
      if (known.has(node)) continue;
      for (const one of pool) one.close();
      this.#pools.delete(node);
    }
  }

  async #connection(node: string): Promise<Connection> {
    const pool = this.#pools.get(node) ?? [];
    this.#pools.set(node, pool);
    const idle = pool.find((one) => one.take());
    if (idle !== undefined) return idle;
    const made = await Connection.open(node);
    made.take();
    pool.push(made);
    return made;
  }
}

interface Waiting {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

/** One request at a time, as a pooled connection has. */
class Connection {
  readonly #socket: Socket;
  #waiting: Waiting | undefined;
  #taken = false;
  #closed = false;
  readonly #parser = new RedisParser({
    returnReply: (reply: Answer) => this.#end((waiting) => waiting.resolve(reply)),
    returnError: (error: Error) =>
      this.#end((waiting) => waiting.reject(new ReplyError(error.message))),
    returnFatalError: (error: Error) => this.#fail(error),
  });

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.#parser.execute(chunk));
    socket.on('error', () => {});
    socket.on('close', () => this.#fail(new Error('EOF')));
  }

  static open(node: string): Promise<Connection> {
    const [host, port] = node.split(':');
    return new Promise((resolve, reject) => {
      const socket = connect({ host: host!, port: Number(port) });
      socket.once('connect', () => resolve(new Connection(socket)));
      socket.once('error', (error: NodeJS.ErrnoException) =>
        reject(error.code === 'ECONNREFUSED' ? new Error('dial: connection refused') : error),
      );
    });
  }

  /** For one request; false while another has it, and once it has ended. */
  take(): boolean {
    if (this.#taken || this.#closed) return false;
    this.#taken = true;
    return true;
  }

  /** Gives the connection back when it is answered. */
  ask(...words: readonly string[]): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new Error('use of closed network connection'));
      this.#waiting = { resolve, reject };
      const line = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('');
      this.#socket.write(`*${words.length}\r\n${line}`);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #end(tell: (waiting: Waiting) => void): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    this.#taken = false;
    if (waiting) tell(waiting);
  }

  #fail(error: Error): void {
    this.#closed = true;
    this.#end((waiting) => waiting.reject(error));
  }
}

/** Undefined for 304. */
async function get(url: string): Promise<unknown> {
  const response = await fetch(url, { signal: AbortSignal.timeout(3_000) });
  if (response.status === 304) return undefined;
  if (response.status !== 200) throw new Error(`${url}: ${response.status}`);
  return response.json();
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
