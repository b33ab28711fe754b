/** A state of an engine as one RDB file, made of the pages of a backup. */
import { crc32 } from '../../../../src/common/checksum.ts';
import { encodeRdbFileHead, RDB_END } from '../../../../src/datanode/encoding/rdb/rdb-frame.ts';
import type { Pacing } from '../../../../src/datanode/encoding/steps/slices.ts';
import type { Engine } from '../../../../src/datanode/engine/engine.ts';
import { HeldBackup } from '../../../../src/datanode/partition/backups/held-backup.ts';
import { crc64 } from '../../encoding/rdb/at-once.ts';

/** Every step is followed by a pause. */
export const ALWAYS_DUE: Pacing = { isDue: () => true, pause: () => Promise.resolve() };

export interface Pages {
  readonly pages: readonly Buffer[];
  readonly keys: number;
  readonly expires: number;
}

/** All pages of what the engine holds now. */
export async function pagesOf(engine: Engine, nowMs: number, libraries?: number): Promise<Pages> {
  const state = engine.snapshot();
  state.keep?.();
  const held = new HeldBackup(state, ALWAYS_DUE, nowMs, libraries);
  const pages: Buffer[] = [];
  try {
    for (let offset = 0; ; ) {
      const page = await held.page(offset);
      pages.push(page.bytes);
      offset += page.bytes.length;
      if (!page.isLast) continue;
      if (crc32(Buffer.concat(pages)) !== page.crc) throw new Error('another checksum');
      return { pages, keys: page.keys, expires: page.expires };
    }
  } finally {
    await held.close();
  }
}

/** As any reader of RDB files takes it. */
export function fileOf({ pages, keys, expires }: Pages, version = 10): Buffer {
  const head = encodeRdbFileHead({ version, madeS: 1_700_000_000, madeBy: '0', keys, expires });
  const body = Buffer.concat([head, ...pages, RDB_END]);
  return Buffer.concat([body, crc64(body)]);
}
