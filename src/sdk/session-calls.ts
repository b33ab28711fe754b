/** How sessions are opened and closed: by calls of their own, outside of the window. */
import { limits } from '../common/limits.ts';
import type { Random } from '../common/random.ts';
import { ownError } from './errors.ts';
import type { Runner } from './runner.ts';
import { closeLine, openLine, Sessions } from './sessions.ts';

const CLOSE_MS = 1_000;

/** `failed`: told what no call is rejected with. */
export function makeSessions(
  random: Random,
  runner: () => Runner,
  timeoutMs: number,
  failed: (error: Error) => void,
): Sessions {
  return new Sessions(random, (session, key, done) => {
    const line = openLine(session, key);
    runner().urgent('kv.session', line, session.partition, timeoutMs, (result) => {
      if (result.ok) done('opened');
      else if (!/unknown command/i.test(result.error.message)) done(result.error);
      else {
        failed(ownError('REFUSED', 'the datanodes know no sessions: writes go without'));
        done('unsupported');
      }
    });
  });
}

/** So that groups need not keep them until they are collected; resolves whatever comes of it. */
export async function closeSessions(sessions: Sessions, runner: Runner): Promise<void> {
  const open = sessions.open.slice(0, limits.sdkSessionClosesMax);
  await Promise.all(
    open.map((session) => {
      return new Promise<void>((resolve) => {
        const line = closeLine(session, session.openedWith ?? '');
        runner.urgent('kv.session', line, session.partition, CLOSE_MS, () => resolve());
      });
    }),
  );
}
