import { beforeEach, expect, test } from 'vitest';
import { LeaderReports } from '../../src/datanode/leader-reports.ts';
import type { LeaderNews } from '../../src/datanode/partition/host/host-options.ts';
import { PartitionMeters } from '../../src/datanode/partition/host/meters.ts';
import { MutableRouteTable } from '../../src/datanode/routing/route-table.ts';
import type { LeaderRecord, PartitionRecord } from '../../src/meta/schema.ts';
import { partitionRecord } from './routing/records.ts';

const record = partitionRecord(0, 1);
const { group } = record;

let routes: MutableRouteTable;
let meters: PartitionMeters;
let reported: LeaderRecord[];
let resigned: { record: PartitionRecord; term: number }[];
let reports: LeaderReports;

beforeEach(() => {
  routes = new MutableRouteTable();
  routes.setPartitions([record]);
  meters = new PartitionMeters();
  [reported, resigned] = [[], []];
  reports = new LeaderReports(routes, meters, {
    reportLeader: (leader) => reported.push(leader),
    resign: (of, term) => resigned.push({ record: of, term }),
  });
});

const news = (change: Partial<LeaderNews>): LeaderNews => ({
  ...{ record, node: 'n1', replica: 1, term: 5, own: true, catchingUp: [] },
  membership: { epoch: 1, voters: [1], learners: [], joint: false },
  ...change,
});
const leader = () => routes.leader(record.namespace, record.partition);

test('requests go to a leader at once, and the store hears of the own ones', () => {
  reports.hear(news({ node: 'n2', replica: 2, own: false }));
  expect(leader()).toEqual({ node: 'n2', term: 5 });
  expect([reported, meters.electionsWon]).toEqual([[], 0]);
  reports.hear(news({ term: 6 }));
  expect(leader()).toEqual({ node: 'n1', term: 6 });
  expect(reported).toMatchObject([{ group, node: 'n1', replica: 1, term: 6 }]);
});

test('an election is won once, however often its leader tells of its members', () => {
  reports.hear(news({}));
  reports.hear(news({}));
  expect([reported.length, meters.electionsWon]).toEqual([2, 1]);
});

test('while nobody leads requests go nowhere, and what led here has resigned', () => {
  reports.hear(news({}));
  reports.hear(news({ node: undefined, replica: 0, own: false }));
  expect(leader()).toBeUndefined();
  expect(resigned).toEqual([{ record, term: 5 }]);
  reports.hear(news({ node: undefined, replica: 0, own: false }));
  expect(meters.leaderLosses).toBe(1);
});

test('nobody resigns for a leader of which only the node is not known', () => {
  reports.hear(news({ node: undefined, replica: 9, own: false }));
  expect([leader(), resigned]).toEqual([undefined, []]);
});

test('a group that another took the place of tells nobody anything', () => {
  reports.hear(news({ record: { ...record, group: group + 1 } }));
  reports.hear(news({ record: { ...record, group: group + 1 }, node: undefined, replica: 0 }));
  expect([leader(), reported, resigned]).toEqual([undefined, [], []]);
});
