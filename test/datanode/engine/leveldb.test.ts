import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import { fsDisk } from '../../../src/common/fs-disk.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { createLevelHost } from '../../../src/datanode/engine/leveldb.ts';
import { engineConformance } from '../../conformance/engine.ts';

describe('the LevelDB engine', () => {
  engineConformance(async () => {
    const dir = await mkdtemp(join(tmpdir(), 'kvorum-engine-'));
    const options = { dir, disk: fsDisk, logger: silentLogger, cacheBytes: 32 * 1024 * 1024 };
    return {
      host: createLevelHost(options),
      reopen: () => createLevelHost(options),
      dispose: () => rm(dir, { recursive: true, force: true }),
    };
  });
});
