/** Leaders of a node prefer the same followers. */
import { beforeEach, expect, test } from 'vitest';
import { PromptNodes } from '../../../../src/datanode/partition/host/prompt-nodes.ts';

/** Replica 11 is of group 1 on node `a`, 23 of group 2 on `c`. */
const NODES = ['', 'a', 'b', 'c', 'd'];

let prompt: PromptNodes;

beforeEach(() => {
  prompt = new PromptNodes({ nodeOf: (_group, replica) => NODES[replica % 10] });
});

test('who wins the first race is preferred by all groups, whoever wins theirs', () => {
  expect(prompt.judge(1, [12, 13], [13])).toEqual([13]);
  expect(prompt.judge(2, [22, 23], [22])).toEqual([23]);
  expect(prompt.judge(3, [32, 33], [32])).toEqual([33]);
});

test('who loses some races one after the other is preferred no more', () => {
  prompt.judge(1, [12, 13], [13]);
  for (let i = 0; i < 3; i++) expect(prompt.judge(1, [12, 13], [12])).toEqual([13]);
  expect(prompt.judge(2, [22, 23], [23])).toEqual([23]);
  for (let i = 0; i < 3; i++) expect(prompt.judge(2, [22, 23], [22])).toEqual([23]);
  expect(prompt.judge(1, [12, 13], [12])).toEqual([12]);
  expect(prompt.judge(2, [22, 23], [23])).toEqual([22]);
});

test('groups without the favourite prefer who comes next', () => {
  prompt.judge(1, [12, 13], [13]);
  expect(prompt.judge(2, [22, 24], [24])).toEqual([24]);
  expect(prompt.judge(3, [32, 34], [32])).toEqual([34]);
  expect(prompt.judge(4, [43, 44], [44])).toEqual([43]);
});

test('of five, two are preferred', () => {
  expect(prompt.judge(1, [11, 12, 13, 14], [14, 12])).toEqual([12, 14]);
  expect(prompt.judge(2, [21, 22, 23, 24], [23, 24])).toEqual([22, 24]);
  for (let i = 0; i < 2; i++) prompt.judge(2, [21, 22, 23, 24], [23, 24]);
  // `b` has lost its fourth race, `d` none
  expect(prompt.judge(2, [21, 22, 23, 24], [23, 24])).toEqual([24, 23]);
});

test('while two replicas of one node race, or nobody knows where one lives, who finished is preferred', () => {
  prompt.judge(1, [12, 13], [13]);
  expect(prompt.judge(1, [12, 13, 113, 14], [12, 14])).toEqual([12, 14]);
  expect(prompt.judge(1, [12, 18], [18])).toEqual([18]);
});
