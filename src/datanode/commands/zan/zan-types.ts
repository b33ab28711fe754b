/** The types by which ZanRedisDB's commands name what they mean: KV, HASH, LIST, SET, ZSET. */
import type { ValueType } from '../../encoding/records/header.ts';
import { argument, word } from '../rows/args.ts';
import { ArgumentError } from '../rows/command.ts';

const types: Readonly<Record<string, ValueType>> = {
  kv: 'string',
  hash: 'hash',
  list: 'list',
  set: 'set',
  zset: 'zset',
};

/** The type that argument `at` names, in any case. */
export function typeArgument(args: readonly Buffer[], at: number): ValueType {
  const name = word(argument(args, at));
  const type = Object.hasOwn(types, name) ? types[name] : undefined;
  if (type === undefined) {
    throw new ArgumentError('ERR the type must be one of KV, HASH, LIST, SET and ZSET');
  }
  return type;
}
