/**
 * MONITOR: clients that are told every command of this node's clients. Few may be, lines are short,
 * and who does not read them is disconnected: others' commands never wait for a monitor.
 */
import { limits } from '../../common/limits.ts';
import type { Logger } from '../../common/log.ts';
import type { Command } from '../commands/rows/command.ts';
import type { Session } from '../commands/rows/node-context.ts';
import { error, OK, type Reply } from '../resp/reply.ts';
import { shownArgs } from './shown-args.ts';

const MICROSECONDS = 1_000;
const ENDS = new Set(['reset', 'quit']);

export class Monitors {
  readonly #logger: Logger;
  readonly #sessions = new Set<Session>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  get size(): number {
    return this.#sessions.size;
  }

  start(session: Session): Reply {
    if (!this.#sessions.has(session) && this.#sessions.size >= limits.monitorsMax) {
      return error(`ERR ${limits.monitorsMax} clients monitor this node already; no more may`);
    }
    this.#sessions.add(session);
    session.monitors = true;
    return OK;
  }

  stop(session: Session): void {
    session.monitors = false;
    this.#sessions.delete(session);
  }

  /** Administration is not shown, as in Redis, nor to a monitor the RESET or QUIT that ends it. */
  tell(session: Session, command: Command, args: readonly Buffer[], nowMs: number): void {
    if (this.#sessions.size === 0 || command.flags.includes('admin')) return;
    const ending = ENDS.has(command.name) ? session : undefined;
    const words = shownArgs(command.name, args).map(quoted);
    this.#tell(monitorLine(session, words, nowMs), ending);
  }

  /** In the place of so many commands of a transaction: the loop and the clients have others, too. */
  tellOfMore(session: Session, commands: number, nowMs: number): void {
    const words = quoted(Buffer.from(`... (${commands} more commands of the transaction)`));
    this.#tell(monitorLine(session, [words], nowMs));
  }

  #tell(text: string, ending?: Session): void {
    const line: Reply = { kind: 'simple', text };
    for (const monitor of this.#sessions) {
      if (monitor === ending) continue;
      if (monitor.queued().replyBytes > limits.monitorQueueBytesMax) this.#disconnect(monitor);
      else monitor.push(line);
    }
  }

  #disconnect(monitor: Session): void {
    this.#logger.warn('a client that monitors reads too slowly and is disconnected', {
      client: monitor.remote,
    });
    this.stop(monitor);
    monitor.kill();
  }
}

const KEYSPACE = error("ERR Replica can't interact with the keyspace");
/** What Redis would pass on to replicas beside writes. */
const PUBLISHES = new Set(['publish', 'spublish']);

/** To Redis who monitors is a replica, which has no business with keys; nor has it here. */
export function refusedToMonitor({ name, flags }: Command, session: Session): Reply | undefined {
  if (!session.monitors) return undefined;
  const isData = flags.includes('readonly') || flags.includes('write') || PUBLISHES.has(name);
  return isData ? KEYSPACE : undefined;
}

/** `seconds.microseconds [namespace client] "name" "argument" …` */
function monitorLine(
  { namespace, remote }: Session,
  words: readonly string[],
  nowMs: number,
): string {
  const seconds = Math.floor(nowMs / 1_000);
  const fraction = String((nowMs - seconds * 1_000) * MICROSECONDS).padStart(6, '0');
  const database = namespace === 'default' ? '0' : namespace.replace(/^db(?=\d+$)/, '');
  return `${seconds}.${fraction} [${database} ${remote}] ${words.join(' ')}`;
}

const escapes: ReadonlyMap<number, string> = new Map([
  [0x22, '\\"'],
  [0x5c, '\\\\'],
  [0x0a, '\\n'],
  [0x0d, '\\r'],
  [0x09, '\\t'],
  [0x07, '\\a'],
  [0x08, '\\b'],
]);

function quoted(arg: Buffer): string {
  let text = '"';
  for (const byte of arg) {
    const escaped = escapes.get(byte);
    if (escaped !== undefined) text += escaped;
    else if (byte >= 0x20 && byte <= 0x7e) text += String.fromCharCode(byte);
    else text += `\\x${byte.toString(16).padStart(2, '0')}`;
  }
  return `${text}"`;
}
