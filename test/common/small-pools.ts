import { smallBufferPools } from '../../src/common/buffer-pools.ts';

/** As a datanode has them; pools of before are used up. */
export function withSmallPools(): void {
  smallBufferPools();
  for (let bytes = 0; bytes < 2 * 65_536; bytes += 1_000) Buffer.allocUnsafe(1_000);
}
