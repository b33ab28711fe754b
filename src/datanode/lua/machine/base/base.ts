/** The functions that have no table, as far as Redis offers them. */
import type { Library } from '../../values/function.ts';
import { conversions } from './conversions.ts';
import { errors } from './errors.ts';
import { loading } from './loading.ts';
import { tables } from './tables.ts';

export const baseLibrary: Library = {
  ...conversions,
  ...errors,
  ...loading,
  ...tables,
  _VERSION: 'Lua 5.1',
};
