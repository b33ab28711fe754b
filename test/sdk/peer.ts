/** A datanode as a script: it answers RESP requests over TCP as a function says. */
import { createServer, type Server, type Socket } from 'node:net';
import type { HttpGet } from '../../src/sdk/placedriver-source.ts';

/** RESP to send; `hang`: no answer, to this and what follows; `close`: the connection ends; a promise: later, in order. */
export type Answer = string | 'hang' | 'close' | Promise<string>;
export type Script = (line: readonly string[], peer: Peer) => Answer | undefined;

export class Peer {
  /** What it was sent, without what every connection begins with, and transactions of nothing. */
  readonly lines: (readonly string[])[] = [];
  /** How many requests came with each read of a socket. */
  readonly reads: number[] = [];
  readonly sockets = new Set<Socket>();
  connections = 0;
  /** Transactions of nothing; it answers EXEC by itself. */
  proofs = 0;
  port = 0;
  script: Script;
  readonly #server: Server;

  constructor(script: Script) {
    this.script = script;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static async start(script: Script, port = 0): Promise<Peer> {
    const peer = new Peer(script);
    await new Promise<void>((resolve) => peer.#server.listen(port, '127.0.0.1', resolve));
    const address = peer.#server.address();
    peer.port = typeof address === 'object' && address !== null ? address.port : 0;
    return peer;
  }

  /** Without SELECT, CLIENT, sessions' own commands and the wrapper of KV.ONCE. */
  get commands(): string[] {
    return this.lines.filter(([name]) => name !== 'KV.SESSION').map((line) => unwrapped(line));
  }

  send(bytes: string): void {
    for (const socket of this.sockets) socket.write(bytes);
  }

  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  #serve(socket: Socket): void {
    this.sockets.add(socket);
    this.connections++;
    let bytes = Buffer.alloc(0);
    let replies = Promise.resolve();
    let before = '';
    socket.on('error', () => {});
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('data', (chunk) => {
      bytes = Buffer.concat([bytes, chunk]);
      let requests = 0;
      for (;;) {
        const parsed = parse(bytes);
        if (parsed === undefined) break;
        bytes = bytes.subarray(parsed.end);
        requests++;
        const name = parsed.line[0] ?? '';
        const isProof = before === 'MULTI' && name === 'EXEC';
        before = name;
        const answer = isProof ? this.#proven() : this.#answer(parsed.line);
        if (answer === 'close') {
          replies = replies.then(() => void socket.destroy());
        } else if (answer === 'hang') {
          replies = new Promise<void>(() => {});
        } else {
          replies = replies.then(async () => void socket.write(await answer));
        }
      }
      this.reads.push(requests);
    });
  }

  #proven(): Answer {
    this.proofs++;
    this.lines.splice(
      this.lines.findLastIndex(([name]) => name === 'MULTI'),
      1,
    );
    return '*0\r\n';
  }

  #answer(line: readonly string[]): Answer {
    const [name = ''] = line;
    if (name === 'SELECT' || name === 'CLIENT' || name === 'READONLY') return '+OK\r\n';
    this.lines.push(line);
    return this.script(line, this) ?? (name === 'KV.SESSION' ? '+OK\r\n' : '-ERR not scripted\r\n');
  }
}

/** The command in KV.ONCE, as one text. */
export function unwrapped(line: readonly string[]): string {
  return (line[0] === 'KV.ONCE' ? line.slice(4) : line).join(' ');
}

function parse(bytes: Buffer): { line: string[]; end: number } | undefined {
  let at = 0;
  const readLine = () => {
    const end = bytes.indexOf('\r\n', at);
    if (end === -1) return undefined;
    const text = bytes.toString('utf8', at + 1, end);
    at = end + 2;
    return Number(text);
  };
  const count = readLine();
  if (count === undefined) return undefined;
  const line: string[] = [];
  for (let item = 0; item < count; item++) {
    const length = readLine();
    if (length === undefined || at + length + 2 > bytes.length) return undefined;
    line.push(bytes.toString('utf8', at, at + length));
    at += length + 2;
  }
  return { line, end: at };
}

export function bulk(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
}

export function array(...items: readonly string[]): string {
  return `*${items.length}\r\n${items.join('')}`;
}

export interface ScriptedTable {
  epoch: number;
  /** The placedriver has lost sight of the metadata store for so long; undefined: it has not. */
  staleMs?: number;
  hash?: 'slots' | 'murmur3';
  nodes: { name: string; host?: string; port: number; followerPort?: number; dc?: string }[];
  /** Leader first; null: nobody leads. */
  /** How many the namespace has; absent: not told. */
  partitionNum?: number;
  partitions: { leader: string | null; replicas: string[]; slots?: [number, number] }[];
}

/** A placedriver as a script: `table` may be changed at any time, with its epoch. */
export function scriptedPlacedriver(table: ScriptedTable): { get: HttpGet; asked: string[] } {
  const asked: string[] = [];
  const get: HttpGet = async (url) => {
    asked.push(url);
    const header = (name: string) =>
      name === 'kvorum-stale-ms' ? table.staleMs?.toString() : undefined;
    const json = (body: unknown) => ({ status: 200, header, json: async () => body });
    const { pathname, searchParams } = new URL(url);
    if (pathname.startsWith('/query/')) {
      if (searchParams.get('epoch') === String(table.epoch)) {
        return { status: 304, header, json: async () => undefined };
      }
      const { epoch, hash = 'slots', partitionNum } = table;
      return json({ epoch, hash, ...(partitionNum && { partition_num: partitionNum }) });
    }
    if (pathname === '/v1/nodes') {
      const nodes = table.nodes.map(({ name, host = '127.0.0.1', port, followerPort, dc }) => ({
        name,
        alive: true,
        address: { host, gatewayPort: port, ...(followerPort && { followerPort }) },
        tags: dc ? { dc_info: dc } : {},
      }));
      return json({ nodes });
    }
    const count = table.partitions.length;
    const partitions = table.partitions.map(({ leader, replicas, slots }, partition) => ({
      partition,
      slots: slots ?? [
        Math.ceil((partition * 16_384) / count),
        Math.ceil(((partition + 1) * 16_384) / count) - 1,
      ],
      leader: leader === null ? null : { node: leader, replica: 1, term: 1 },
      wanted: replicas.map((node) => ({ node })),
    }));
    return json({ partitions });
  };
  return { get, asked };
}

/** A peer for each script, in their order; `ends` stops them. `nodes`: as a scripted table has them. */
export async function startPeers(scripts: readonly Peer['script'][], ends: (() => unknown)[]) {
  const peers: Peer[] = [];
  for (const script of scripts) {
    const peer = await Peer.start(script);
    ends.push(() => peer.stop());
    peers.push(peer);
  }
  return { peers, nodes: peers.map(({ port }, at) => ({ name: `n${at}`, port })) };
}
