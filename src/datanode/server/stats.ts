/** What the doors count since the node started (or since CONFIG RESETSTAT). */
import { LatencyHistogram } from '../../common/latency-histogram.ts';
import type { CommandStat } from '../commands/rows/node-context.ts';
import type { Reply } from '../resp/reply.ts';

/** Error codes told apart, as in Redis; the rest are one line. */
const ERROR_CODES_MAX = 128;
const ERROR_CODE_CHARACTERS_MAX = 64;
const OTHER_CODES = 'OTHER';
const MINUS = 0x2d;

export class ServerStats {
  connections = 0;
  rejected = 0;
  commands = 0;
  inputBytes = 0;
  outputBytes = 0;
  /** Pieces that came from sockets, and that were handed to them. */
  reads = 0;
  writes = 0;
  /** Clients that were let go because all of them took too much memory. */
  evicted = 0;
  errorReplies = 0;
  readonly byCommand = new Map<string, CommandStat>();
  readonly byErrorCode = new Map<string, number>();

  /**
   * A command that was carried out; `microseconds` from the request's arrival to its reply. As in
   * Redis, one that ended in an error has failed, and one that was `turnedAway` with an error
   * (another node leads, nobody does) was never called.
   */
  count(command: string, microseconds: number, reply: Reply, turnedAway = false): void {
    const failed = reply.kind === 'error' || (reply.kind === 'encoded' && reply.bytes[0] === MINUS);
    if (failed && turnedAway) return this.refuse(command, reply);
    this.commands++;
    const stat = this.#stat(command);
    stat.calls++;
    stat.microseconds += microseconds;
    stat.latency.record(microseconds);
    if (!failed) return;
    stat.failed++;
    this.#countError(reply);
  }

  /** A request that was answered with an error before it was a call: `command` if there is one. */
  refuse(command: string | undefined, reply: Reply): void {
    if (command !== undefined) this.#stat(command).rejected++;
    this.#countError(reply);
  }

  reset(): void {
    this.connections = 0;
    this.rejected = 0;
    this.commands = 0;
    this.inputBytes = 0;
    this.outputBytes = 0;
    this.reads = 0;
    this.writes = 0;
    this.evicted = 0;
    this.errorReplies = 0;
    this.byCommand.clear();
    this.byErrorCode.clear();
  }

  #stat(command: string): CommandStat {
    let stat = this.byCommand.get(command);
    if (stat === undefined) {
      stat = {
        calls: 0,
        microseconds: 0,
        rejected: 0,
        failed: 0,
        latency: new LatencyHistogram(),
      };
      this.byCommand.set(command, stat);
    }
    return stat;
  }

  #countError(reply: Reply): void {
    this.errorReplies++;
    const code = errorCode(reply);
    const known = this.byErrorCode.has(code) || this.byErrorCode.size < ERROR_CODES_MAX;
    const counted = known ? code : OTHER_CODES;
    this.byErrorCode.set(counted, (this.byErrorCode.get(counted) ?? 0) + 1);
  }
}

/** The first word of an error: Redis's clients and INFO tell errors apart by it. */
function errorCode(reply: Reply): string {
  const text =
    reply.kind === 'error'
      ? reply.text
      : reply.kind === 'encoded'
        ? reply.bytes.toString('latin1', 1, ERROR_CODE_CHARACTERS_MAX + 1)
        : '';
  const code = /^[A-Z][A-Z0-9_]*/.exec(text)?.[0] ?? 'ERR';
  return code.slice(0, ERROR_CODE_CHARACTERS_MAX);
}
