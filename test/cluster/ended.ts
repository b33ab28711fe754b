/** What tests start is ended behind each of them, whatever came of it. */
import { afterEach } from 'vitest';

type Started = { destroy(): Promise<unknown> } | { stop(): Promise<unknown> };

/**
 * Notes what is to be ended after the test that runs: the last noted first, all of them within
 * `boundMs`, and each also when another one fails to end. Called once per file.
 */
export function endedAfterEach(boundMs = 300_000): <One extends Started>(started: One) => One {
  const noted: Started[] = [];
  afterEach(async () => {
    const failures: unknown[] = [];
    for (const started of noted.splice(0).reverse()) {
      const ended = 'destroy' in started ? started.destroy() : started.stop();
      await ended.catch((failure: unknown) => failures.push(failure));
    }
    if (failures.length > 0) throw failures[0];
  }, boundMs);
  return (started) => {
    noted.push(started);
    return started;
  };
}
