import { expect, test } from 'vitest';
import {
  fixedDecimal,
  humanDecimal,
} from '../../../../src/datanode/commands/texts/fixed-decimal.ts';

test('decimals are rounded from the exact value, ties to even', () => {
  expect(fixedDecimal(0.03125, 4)).toBe('0.0312');
  expect(fixedDecimal(0.09375, 4)).toBe('0.0938');
  expect(fixedDecimal(-1.00005, 4)).toBe('-1.0001');
  expect(fixedDecimal(166274.15156960033, 4)).toBe('166274.1516');
  expect(fixedDecimal(1e300, 1)).toMatch(/^1000000000000000052504760255204420\d+\.0$/);
  expect(fixedDecimal(5e-324, 4)).toBe('0.0000');
  expect(fixedDecimal(Number.NEGATIVE_INFINITY, 6)).toBe('-inf');
});

test('coordinates end with their last digit that is not 0', () => {
  expect(humanDecimal(0.1)).toBe('0.10000000000000001');
  expect(humanDecimal(13.5)).toBe('13.5');
  expect(humanDecimal(-180)).toBe('-180');
  expect(humanDecimal(-1e-20)).toBe('0');
  expect(humanDecimal(0.000003814697265625)).toBe('0.00000381469726562');
});
