/** Plain JavaScript: `npm test` asks before anything is installed. */
import { spawnSync } from 'node:child_process';

/**
 * A Python that has redis-py: Debian's, which alone sees Debian's packages, or the one on PATH.
 * Undefined: there is none.
 */
export function pythonWithRedis() {
  return ['/usr/bin/python3', 'python3'].find((python) => {
    const options = { stdio: 'ignore', timeout: 20_000 };
    return spawnSync(python, ['-c', 'import redis.cluster'], options).status === 0;
  });
}
