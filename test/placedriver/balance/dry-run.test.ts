import { expect, test } from 'vitest';
import { runAtOnce } from '../../../src/common/slices.ts';
import { plannedMoves } from '../../../src/placedriver/balance/dry-run.ts';
import { ClusterModel, WAIT_MS } from './cluster-model.ts';

function cluster(nodes: number, partitions: number): ClusterModel {
  const model = new ClusterModel();
  for (let i = 1; i <= nodes; i++) model.join({ name: `n${i}` });
  model.create({ name: 'default', partitions, replicas: 3 });
  expect(model.settle(100)).toBe(true);
  return model;
}

test('nothing is planned where nothing is to do', () => {
  expect(runAtOnce(plannedMoves(cluster(4, 8).view()))).toEqual([]);
});

test('what a new node will be given is told before, and then happens', () => {
  const model = cluster(3, 8);
  model.join({ name: 'n4' });
  const planned = runAtOnce(plannedMoves(model.view()));
  expect(planned).toHaveLength(6);
  for (const move of planned) {
    expect(move).toMatchObject({ to: 'n4', kind: 'balance', why: 'replicas are to be more even' });
    expect(move.waitsFor).toBeUndefined();
  }
  expect(model.settle(100)).toBe(true);
  for (const { partition } of planned) {
    expect(model.records[partition]!.replicas.map(({ node }) => node)).toContain('n4');
  }
  expect(model.moves).toBe(6);
});

test('what waits says what for', () => {
  const model = cluster(5, 10);
  model.drain('n5');
  model.join({ name: 'n6' });
  const drained = runAtOnce(plannedMoves(model.view()));
  expect(drained.filter(({ kind }) => kind === 'drain')).toHaveLength(6);
  for (const { kind, from, waitsFor } of drained) {
    if (kind === 'drain') expect([from, waitsFor]).toEqual(['n5', undefined]);
    else expect(waitsFor).toMatch(/drained: n5/);
  }
  model.die('n1');
  expect(runAtOnce(plannedMoves(model.view())).filter(({ kind }) => kind === 'lost')).toEqual([]);
  model.nowMs += WAIT_MS;
  const lost = runAtOnce(plannedMoves(model.view())).filter(({ kind }) => kind === 'lost');
  expect(lost.map(({ from }) => from)).toEqual(['n1', 'n1', 'n1', 'n1', 'n1', 'n1']);
  for (const name of ['n2', 'n3']) model.die(name);
  model.undrain('n5');
  const frozen = runAtOnce(plannedMoves(model.view()));
  expect(frozen.length).toBeGreaterThan(0);
  for (const { waitsFor } of frozen) expect(waitsFor).toMatch(/3 of 6/);
});
