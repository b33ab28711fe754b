import { expect, test } from 'vitest';
import { Spool } from '../../../../src/cli/import/live/spool.ts';

test('what is appended is read in order, before and after the end', async () => {
  const spool = new Spool();
  try {
    const early = spool.read();
    await spool.append(Buffer.from('one '));
    expect(String(await early)).toBe('one ');
    const large = Buffer.alloc(70 * 1_048_576, 'x');
    void spool.append(large);
    void spool.append(Buffer.from('last'));
    spool.end();
    let bytes = 0;
    let last = '';
    for (let chunk = await spool.read(); chunk !== undefined; chunk = await spool.read()) {
      bytes += chunk.length;
      last = chunk.toString('latin1').slice(-4);
    }
    expect([bytes, last, spool.pending]).toEqual([large.length + 4, 'last', 0]);
  } finally {
    await spool.remove();
  }
});

test('what ended it is told behind what came before', async () => {
  const spool = new Spool();
  void spool.append(Buffer.from('some'));
  spool.end(new Error('the link broke'));
  await spool.append(Buffer.alloc(0));
  await expect(spool.read()).resolves.toEqual(Buffer.from('some'));
  await expect(spool.read()).rejects.toThrow('the link broke');
  await spool.remove();
});
