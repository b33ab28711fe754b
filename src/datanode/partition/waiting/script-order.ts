/**
 * Scripts, and transactions on condition. Which keys a script changes is known once it is applied: an
 * EXEC that watches keys waits for the scripts before it, and then knows. Scripts that come meanwhile go
 * behind it: where there is always one on its way it would wait for ever, and were it answered nil
 * instead, none that watches keys would ever be carried out.
 */
import { limits } from '../../../common/limits.ts';

type Run<T> = () => Promise<T>;

export class ScriptOrder {
  /** Batches with scripts, taken on and not answered. */
  #underWay = 0;
  readonly #execs: (() => void)[] = [];
  readonly #scripts: (() => void)[] = [];

  /** An EXEC that watches keys has to wait. */
  get isBusy(): boolean {
    return this.#underWay > 0;
  }

  /** No more may wait. */
  get isFull(): boolean {
    return this.#execs.length + this.#scripts.length >= limits.proposalsPerPartitionMax;
  }

  /** While it is busy: `run` begins once no script is under way. */
  exec<T>(run: Run<T>): Promise<T> {
    return this.#later(this.#execs, run);
  }

  /** `run` takes a batch with scripts on, once no EXEC waits. */
  script<T>(run: Run<T>): Promise<T> {
    if (this.#execs.length === 0) return this.begin(run);
    return this.#later(this.#scripts, () => this.begin(run));
  }

  /** The same for an EXEC with scripts in it, whose turn it is. */
  begin<T>(run: Run<T>): Promise<T> {
    this.#underWay++;
    const results = run();
    const ended = () => {
      this.#underWay--;
      this.#goOn();
    };
    results.then(ended, ended);
    return results;
  }

  /** Leadership is gone, or the replica stops: whoever waits is refused by what it comes to. */
  release(): void {
    const waiting = [...this.#execs.splice(0), ...this.#scripts.splice(0)];
    for (const go of waiting) go();
  }

  #later<T>(queue: (() => void)[], run: Run<T>): Promise<T> {
    return new Promise((resolve) => queue.push(() => resolve(run())));
  }

  #goOn(): void {
    // one of them may run scripts itself
    while (this.#underWay === 0 && this.#execs.length > 0) this.#execs.shift()!();
    if (this.#execs.length > 0) return;
    for (const go of this.#scripts.splice(0)) go();
  }
}
