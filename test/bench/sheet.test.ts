import { describe, expect, test } from 'vitest';
import { inTerminal, onPage, round, table } from '../../bench/sheet.ts';

describe('figures', () => {
  test.each([
    [158_234, '158,000'],
    [1_329_999, '1,330,000'],
    [12.34, '12.3'],
    [0.12345, '0.123'],
    [0.01234, '0.012'],
    [999.6, '1,000'],
    [0, '0'],
    [Number.NaN, '–'],
  ])('%d is shown as %s', (value, text) => {
    expect(round(value)).toBe(text);
  });

  test('columns are as wide as their widest cell', () => {
    const rows = [
      ['a', '100'],
      ['long', '1'],
    ];
    expect(table({ head: ['', 'n'], rows })).toEqual(['        n', 'a     100', 'long    1']);
    expect(table({ head: ['', 'n'], rows, words: 2 })).toEqual(['      n', 'a     100', 'long  1']);
  });
});

describe('a sheet', () => {
  const sheet = { title: 'loads', head: ['', 'n'], rows: [['a|b', '1']], notes: ['One.'] };

  test('is indented below its title in a terminal', () => {
    expect(inTerminal(sheet)).toEqual(['', 'loads', '       n', '  a|b  1', '  One.']);
    expect(inTerminal({ title: 'WARNING', head: [], rows: [] })).toEqual(['', 'WARNING']);
  });

  test('is a table of Markdown on a page, figures aligned right', () => {
    expect(onPage(sheet, 2)).toBe(
      ['## Loads', '', '|  | n |', '|---|---:|', '| a\\|b | 1 |', '', 'One.'].join('\n'),
    );
    expect(onPage({ title: 'WARNING', head: [], rows: [] }, 2)).toBe('**WARNING**');
  });

  test('a row that is shorter than the head is filled up', () => {
    const short = { title: 't', head: ['', 'a', 'b'], rows: [['x', '1']] };
    expect(onPage(short, 3)).toMatch(/\| x \| 1 \| {2}\|$/);
  });
});
