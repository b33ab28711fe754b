/** Who waits for all that is under way waits for that alone, however it ends. */
import { expect, test } from 'vitest';
import { UnderWay } from '../../src/common/under-way.ts';

test('what is under way is waited for, also when it fails', async () => {
  const underWay = new UnderWay();
  let end: () => void = () => {};
  const first = underWay.add(new Promise<void>((resolve) => (end = resolve)));
  const failing = underWay.add(Promise.reject(new Error('failed')));
  let isSettled = false;
  const settled = underWay.settled().then(() => (isSettled = true));
  await expect(failing).rejects.toThrow('failed');
  expect(isSettled).toBe(false);
  end();
  await first;
  await settled;
  await underWay.settled();
});
