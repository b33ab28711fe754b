/** Values as DUMP writes them, in every encoding: read, and restored. */

import { RdbError } from '../../../src/datanode/encoding/rdb/rdb-reader.ts';
import { LonePartition } from '../../datanode/commands/lone-partition.ts';
import { decodeRdbValue, sealRdbPayload } from '../../datanode/encoding/rdb/at-once.ts';
import { bendBehindDoor } from '../engine/bend-bytes.ts';
import { hold, type Room, wayOf } from '../engine/room.ts';
import { rdbValues } from '../rdb-values.ts';

const READ = 0;
const RESTORE = 1;

export async function openRdb(): Promise<Room> {
  const restored = rdbValues.filter((_, at) => at % 4 === 0);
  return {
    name: 'rdb',
    share: 10,
    seeds: [
      ...rdbValues.map((value) => Buffer.concat([Buffer.of(READ), value])),
      ...restored.map((value) => Buffer.concat([Buffer.of(RESTORE), value])),
    ],
    bend: bendBehindDoor,
    judge: (input) =>
      input[0] === RESTORE ? restore(input.subarray(1)) : read(Buffer.from(input.subarray(1))),
  };
}

function read(value: Buffer): string {
  try {
    decodeRdbValue(value);
    return `read type ${value[0]}`;
  } catch (failure) {
    if (!(failure instanceof RdbError)) throw failure;
    return `${value[0]} ${wayOf(failure.message)}`;
  }
}

/** With a checksum that is right: the key holds all of it, or what it held before. */
async function restore(value: Buffer): Promise<string> {
  const partition = await LonePartition.open();
  await partition.call('SET', 'k', 'before');
  const reply = await partition.call('RESTORE', 'k', '0', sealRdbPayload([value]), 'REPLACE');
  if (reply.kind === 'error') {
    hold(reply.text.startsWith('ERR Bad data format'), () => `RESTORE answers ${reply.text}`);
    const kept = await partition.call('GET', 'k');
    hold(kept.kind === 'bulk' && kept.bytes.toString() === 'before', () => 'the key has changed');
    return wayOf(reply.text);
  }
  const dumped = await partition.call('DUMP', 'k');
  if (dumped.kind !== 'bulk') throw new Error(`DUMP answers ${dumped.kind}`);
  const again = await partition.call('RESTORE', 'copy', '0', dumped.bytes);
  hold(again.kind === 'simple', () => 'what DUMP wrote is not restored');
  const copy = await partition.call('DUMP', 'copy');
  hold(copy.kind === 'bulk' && copy.bytes.equals(dumped.bytes), () => 'the copy differs');
  return `restored type ${value[0]}`;
}
