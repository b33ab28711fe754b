/** What a path is made of once it is parsed: its steps, and the filters in them. */
import type { Json } from './json-value.ts';

export type PathStep =
  | { readonly kind: 'names'; readonly names: readonly string[] }
  | { readonly kind: 'indexes'; readonly indexes: readonly number[] }
  | { readonly kind: 'slice'; readonly from?: number; readonly to?: number; readonly by: number }
  | { readonly kind: 'all' }
  /** What comes next is looked for in the value itself and in all within it. */
  | { readonly kind: 'deep' }
  | { readonly kind: 'filter'; readonly filter: Filter };

export type Filter =
  | { readonly kind: 'any' | 'every'; readonly of: readonly Filter[] }
  | { readonly kind: 'not'; readonly of: Filter }
  | { readonly kind: 'exists'; readonly operand: PathOperand }
  | {
      readonly kind: 'compare';
      readonly a: Operand;
      readonly by: Comparison;
      readonly b: Operand;
    };

/** From the value that is looked at, or from the document's root. */
export interface PathOperand {
  readonly from: 'value' | 'root';
  readonly steps: readonly PathStep[];
}

export type Operand = PathOperand | { readonly literal: Json };
export type Comparison = '==' | '!=' | '<=' | '>=' | '<' | '>';
