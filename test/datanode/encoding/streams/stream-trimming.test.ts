/** Trims that look at what groups have pending, over more entries than are read at once. */
import { expect, test } from 'vitest';
import { LonePartition } from '../../commands/lone-partition.ts';

const ENTRIES = 900;

/** A stream all of whose entries a group was given; each third is pending. */
async function streamWithPending() {
  const partition = await LonePartition.open();
  const ids = Array.from({ length: ENTRIES }, (_, at) => `${at + 1}-0`);
  for (const id of ids) await partition.call('XADD', 's', id, 'f', 'v');
  await partition.call('XGROUP', 'CREATE', 's', 'g', '0');
  await partition.call('XREADGROUP', 'GROUP', 'g', 'ann', 'STREAMS', 's', '>');
  await partition.call('XACK', 's', 'g', ...ids.filter((_, at) => at % 3 !== 2));
  const ask = async (line: string) => {
    const reply = await partition.call(...line.split(' '));
    return reply.kind === 'integer' ? reply.value : reply;
  };
  const first = async () => {
    const reply = await partition.call('XRANGE', 's', '-', '+', 'COUNT', '1');
    return JSON.stringify(reply, (_key, value) =>
      value?.type === 'Buffer' ? Buffer.from(value.data).toString() : value,
    );
  };
  const pending = async () => {
    const reply = await partition.call('XPENDING', 's', 'g');
    return reply.kind === 'array' ? reply.items[0] : reply;
  };
  return { ask, first, pending };
}

test('ACKED removes the first that nobody needs, as many as are too many', async () => {
  const { ask, first, pending } = await streamWithPending();
  expect(await ask('XTRIM s MAXLEN 450 ACKED')).toBe(450);
  expect(await ask('XLEN s')).toBe(450);
  expect(await first()).toContain('3-0');
  expect(await ask('XTRIM s MINID 800 ACKED')).toBe(533 - 450);
  expect(await ask('XTRIM s MAXLEN 10 ACKED')).toBe(600 - 533);
  expect(await ask('XLEN s')).toBe(300);
  expect(await pending()).toEqual({ kind: 'integer', value: 300 });
});

test('whole hundreds of ACKED are counted with what stays of them', async () => {
  const { ask } = await streamWithPending();
  expect(await ask('XTRIM s MAXLEN ~ 650 ACKED')).toBe(134);
  expect(await ask('XLEN s')).toBe(ENTRIES - 134);
});

test('DELREF leaves nothing pending of what goes', async () => {
  const { ask, first, pending } = await streamWithPending();
  expect(await ask('XTRIM s MAXLEN 300 DELREF')).toBe(600);
  expect(await pending()).toEqual({ kind: 'integer', value: 100 });
  expect(await first()).toContain('601-0');
  expect(await ask('XTRIM s MINID ~ 850 DELREF')).toBe(200);
  expect(await pending()).toEqual({ kind: 'integer', value: 34 });
});
