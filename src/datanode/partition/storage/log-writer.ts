/**
 * The core's appends on their way into the node's log, with the responses that wait for them.
 * Responses leave in the order of the appends, each once what it rests on is durable.
 */
import type { ReplicaId } from '../../../common/ids.ts';
import type { Entry, HardState, StorageMessage } from '../../raft/message.ts';
import type { LogAppend, LogUrgency, RaftLog, ReplicaLog } from '../../raftlog/raft-log.ts';

export type AppendWork = Extract<StorageMessage, { type: 'storageAppend' }>;

export class LogWriter {
  readonly #log: RaftLog;
  readonly #own: ReplicaLog;
  readonly #replica: ReplicaId;
  #inFlight = 0;
  /** Term and vote as saved, with a newer commit index. */
  #unsaved: HardState | undefined;
  #waiting: (() => void)[] = [];
  /** What is durable, and to be told of, once the engine has been exchanged. */
  #behindSwitch: (() => void)[] | undefined;

  constructor(log: RaftLog, own: ReplicaLog, replica: ReplicaId) {
    this.#log = log;
    this.#own = own;
    this.#replica = replica;
  }

  /** Runs `deliver` once entries, term and vote are durable, and all appends before it. */
  append({ entries, hardState }: AppendWork, deliver: () => void): void {
    const saved = this.#own.hardState;
    const onlyCommit =
      hardState === undefined || (hardState.term === saved.term && hardState.vote === saved.vote);
    if (entries.length === 0 && onlyCommit) {
      // The commit index alone need not be durable: a restart finds it through the engine. It goes
      // with the next entries.
      if (hardState !== undefined) this.#unsaved = hardState;
      if (this.#inFlight === 0) this.#tell(deliver);
      else this.#waiting.push(deliver);
      return;
    }
    const latest = hardState ?? this.#unsaved;
    this.#unsaved = undefined;
    const urgency = onlyCommit && isCommitted(entries, latest ?? saved) ? 'later' : 'now';
    this.#write({ replica: this.#replica, entries, hardState: latest }, deliver, urgency);
  }

  /**
   * The batch that switches to a snapshot: what was logged before is dropped. Once it is durable
   * `exchange` runs, and only then `deliver`; appends that are durable earlier wait for it, because
   * the core must not hear of entries behind a snapshot before it hears of the snapshot.
   */
  reset(
    { entries, hardState }: AppendWork,
    reset: NonNullable<LogAppend['reset']>,
    exchange: () => Promise<void>,
    deliver: () => void,
  ): void {
    this.#unsaved = undefined;
    this.#write({ replica: this.#replica, reset, entries, hardState }, () => {
      this.#behindSwitch = [];
      const done = () => {
        const behind = this.#behindSwitch ?? [];
        this.#behindSwitch = undefined;
        deliver();
        for (const run of behind) this.#tell(run);
      };
      void exchange().then(done);
    });
  }

  #tell(run: () => void): void {
    if (this.#behindSwitch === undefined) run();
    else this.#behindSwitch.push(run);
  }

  #write(part: LogAppend, deliver: () => void, urgency: LogUrgency = 'now'): void {
    this.#inFlight++;
    const before = this.#waiting.splice(0);
    this.#log.append(
      part,
      () => {
        this.#inFlight--;
        for (const run of before) this.#tell(run);
        this.#tell(deliver);
        if (this.#inFlight === 0) for (const run of this.#waiting.splice(0)) this.#tell(run);
      },
      urgency,
    );
  }
}

/** Of more bytes the disk has something to do meanwhile. */
const LATER_BYTES_MAX = 65_536;

/** A quorum has them already, so nobody waits until they are durable here too. */
function isCommitted(entries: readonly Entry[], { commit }: HardState): boolean {
  const last = entries.at(-1);
  if (last === undefined || last.index > commit) return false;
  let bytes = 0;
  for (const { data } of entries) bytes += data.length;
  return bytes <= LATER_BYTES_MAX;
}
