import { expect, test } from 'vitest';
import { PipelineModel } from './pipeline-model.ts';

test('a wrong answer is found', () => {
  const model = new PipelineModel();
  expect(model.judge({ op: 'set', key: 'k', value: '1' }, { kind: 'reply', value: 'OK' })).toBe(
    undefined,
  );
  expect(model.judge({ op: 'incr', key: 'k' }, { kind: 'reply', value: 2 })).toBe(undefined);
  expect(model.judge({ op: 'get', key: 'k' }, { kind: 'reply', value: '3' })).toContain('"2"');
});

test('an unknown write may have happened once, not twice', () => {
  const model = new PipelineModel();
  model.judge({ op: 'incr', key: 'k' }, { kind: 'unknown' });
  expect(model.judge({ op: 'incr', key: 'k' }, { kind: 'reply', value: 3 })).toBeDefined();
  expect(model.judge({ op: 'incr', key: 'k' }, { kind: 'reply', value: 2 })).toBe(undefined);
  expect(model.judge({ op: 'get', key: 'k' }, { kind: 'reply', value: '1' })).toBeDefined();
});
