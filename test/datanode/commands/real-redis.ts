/** A stock redis-server to compare with, on a socket file of its own; undefined when there is none. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Reply } from '../../../src/datanode/resp/reply.ts';
import { decodeReply } from './reply-text.ts';

/** Tells what hangs from what is slow. */
const START_MS = 60_000;

export const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

export class RealRedis {
  readonly #child: ChildProcess;
  readonly #directory: string;
  readonly #socket: Socket;
  readonly #waiting: ((reply: Reply) => void)[] = [];
  #bytes: Buffer = Buffer.alloc(0);

  constructor(child: ChildProcess, directory: string, socket: Socket) {
    this.#child = child;
    this.#directory = directory;
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
  }

  /** Where it listens, for raw bytes. */
  get path(): string {
    return join(this.#directory, 'socket');
  }

  /** `more`: options that can only be given at the start. */
  static async start(...more: string[]): Promise<RealRedis> {
    const directory = mkdtempSync(join(tmpdir(), 'kvorum-redis-'));
    const path = join(directory, 'socket');
    const options = ['--port', '0', '--unixsocket', path, '--save', '', '--dir', directory];
    const child = spawn('redis-server', [...options, ...more], { stdio: 'ignore' });
    for (const untilMs = performance.now() + START_MS; ; ) {
      const socket = connect(path);
      try {
        await once(socket, 'connect');
        return new RealRedis(child, directory, socket);
      } catch (failure) {
        const hasEnded = child.exitCode !== null || child.signalCode !== null;
        if (hasEnded || performance.now() > untilMs) {
          child.kill('SIGKILL');
          rmSync(directory, { recursive: true, force: true });
          throw failure;
        }
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
    }
  }

  call(...words: (string | Buffer)[]): Promise<Reply> {
    const args = words.map((text) => (typeof text === 'string' ? Buffer.from(text) : text));
    const parts = args.flatMap((arg) => [Buffer.from(`$${arg.length}\r\n`), arg, CRLF]);
    this.#socket.write(Buffer.concat([Buffer.from(`*${args.length}\r\n`), ...parts]));
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async stop(): Promise<void> {
    this.#socket.destroy();
    this.#child.kill('SIGKILL');
    if (this.#child.exitCode === null) await once(this.#child, 'exit');
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #receive(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    for (;;) {
      const decoded = this.#bytes.length > 0 ? decodeReply(this.#bytes) : undefined;
      if (!decoded) return;
      this.#bytes = this.#bytes.subarray(decoded.end);
      this.#waiting.shift()!(decoded.reply);
    }
  }
}

const CRLF = Buffer.from('\r\n');
