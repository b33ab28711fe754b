/** A value in every encoding that RESTORE reads. */
import { rdbTypes } from '../../src/datanode/encoding/rdb/rdb-decode.ts';
import {
  compressedRun,
  intset,
  length,
  listpack,
  stream,
  text,
  time,
  value,
  ziplist,
  zipmap,
} from '../datanode/encoding/rdb/rdb-forms.ts';

const items = ['a', '1', 'bc', '-3', 'x'.repeat(70), '1000000', '', '7'];
const score = Buffer.alloc(8);
score.writeDoubleLE(1.5);
const later = 1_800_000_000_000;
const soon = ['b', '2', String(later + 1)];

export const rdbValues: readonly Buffer[] = [
  value(rdbTypes.string, text('some string')),
  value(rdbTypes.string, compressedRun(0x61, 1_000)),
  value(rdbTypes.list, length(items.length), ...items.map(text)),
  value(rdbTypes.set, length(items.length), ...items.map(text)),
  value(rdbTypes.hash, length(items.length / 2), ...items.map(text)),
  value(rdbTypes.zset, length(2), text('a'), score, text('b'), score),
  value(rdbTypes.zsetText, length(2), text('a'), text('1.5'), text('b'), Buffer.from([254])),
  value(
    rdbTypes.hashZipmap,
    text(
      zipmap([
        ['a', '1'],
        ['b', 'x'.repeat(300)],
      ]),
    ),
  ),
  value(rdbTypes.listZiplist, text(ziplist(items))),
  value(rdbTypes.setIntset, text(intset([-5n, 7n, 1_000n], 4))),
  value(rdbTypes.zsetZiplist, text(ziplist(['a', '1', 'b', '2.5']))),
  value(rdbTypes.hashZiplist, text(ziplist(items))),
  value(rdbTypes.listQuicklist, length(2), text(ziplist(items)), text(ziplist(['end']))),
  value(rdbTypes.hashListpack, text(listpack(items))),
  value(rdbTypes.zsetListpack, text(listpack(['a', '1', 'b', '-inf']))),
  value(rdbTypes.listQuicklist2, length(2), length(2), text(listpack(items)), length(1), text('z')),
  value(rdbTypes.setListpack, text(listpack(items))),
  value(rdbTypes.hashMetadata, time(later), length(1), length(9), text('a'), text('1')),
  value(rdbTypes.hashListpackEx, time(later), text(listpack(['a', '1', '0', ...soon]))),
  value(rdbTypes.hashMetadataEarly, length(1), length(later), text('a'), text('1')),
  value(rdbTypes.hashListpackExEarly, text(listpack(['a', '1', '0', ...soon]))),
  stream(15),
  stream(19),
  stream(21),
];
