import { writeSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { expect, test, vi } from 'vitest';
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

/** Whose next write takes four bytes. */
async function partOfAWrite() {
  const handle = await open('/dev/null', 'r');
  const files = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const write = vi.spyOn(files, 'write');
  const part = async function (this: FileHandle, bytes: Buffer, ...rest: (number | null)[]) {
    return { bytesWritten: writeSync(this.fd, bytes, 0, 4, rest.at(-1)!), buffer: bytes };
  };
  write.mockImplementationOnce(part as unknown as FileHandle['write']);
  return write;
}

/** And whose next after it finds no room. */
async function fillingDisk() {
  const write = await partOfAWrite();
  return write.mockRejectedValueOnce(new Error('ENOSPC: no space left on device'));
}

test('what a disk takes in parts is there as a whole', async () => {
  const spool = new Spool();
  const write = await partOfAWrite();
  await Promise.all([spool.append(Buffer.from('in parts')), spool.append(Buffer.from(', next'))]);
  write.mockRestore();
  spool.end();
  expect(String(await spool.read())).toBe('in parts, next');
  await spool.remove();
});

test('of what a disk takes in part the part is given out, nothing behind it, and why', async () => {
  const spool = new Spool();
  await spool.append(Buffer.from('before'));
  expect(String(await spool.read())).toBe('before');
  const write = await fillingDisk();
  const appended = [spool.append(Buffer.from('cut here')), spool.append(Buffer.from(', next'))];
  await Promise.all(appended);
  write.mockRestore();
  await spool.append(Buffer.from(' and more'));
  spool.end();
  expect(String(await spool.read())).toBe('cut ');
  await expect(spool.read()).rejects.toThrow('ENOSPC');
  await spool.remove();
});
