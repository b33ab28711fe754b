/** What is told of a group that is not in the table any more says why. */
import { expect, test } from 'vitest';
import { MutableRouteTable } from '../../../src/datanode/routing/route-table.ts';
import { goneReply } from '../../../src/datanode/server/gone.ts';
import { partitionRecord } from '../routing/records.ts';

const before = partitionRecord(0, 1);
const { namespace, partition, group } = before;
const rebuilt = (...formerGroups: number[]) => ({
  ...{ ...before, group: 99 },
  rebuilt: { epoch: 2, formerGroups, lost: [] },
});

test.each([
  ['of a namespace that is gone', [], /^LOADING/],
  ['of one made anew', [{ ...before, group: 99 }], /^TRYAGAIN .* was deleted and made anew/],
  ['of one made anew and rebuilt', [rebuilt(98)], /^TRYAGAIN .* was deleted and made anew/],
  ['of a partition that was rebuilt', [rebuilt(group)], /^TRYAGAIN .* was rebuilt from one/],
  ['of one that was rebuilt twice', [rebuilt(group, 98)], /^TRYAGAIN .* was rebuilt from one/],
])('%s', (_, records, text) => {
  const routes = new MutableRouteTable();
  routes.setPartitions(records);
  expect(goneReply(routes, { namespace, partition, group })).toEqual({
    kind: 'error',
    text: expect.stringMatching(text),
  });
});
