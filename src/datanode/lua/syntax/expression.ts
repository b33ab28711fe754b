/** Where the value of an expression is, while the code that wants it is not yet known. */
export type ExpressionKind =
  | 'void'
  | 'nil'
  | 'true'
  | 'false'
  /** `info`: index of a constant. */
  | 'constant'
  | 'number'
  /** `info`: register. */
  | 'local'
  | 'upvalue'
  /** `info`: constant of its name. */
  | 'global'
  /** `info`: register of the table; `aux`: register or constant of the key. */
  | 'indexed'
  /** `info`: the jump. */
  | 'jump'
  /** `info`: the instruction, which may put it into any register. */
  | 'relocatable'
  /** `info`: the register that it is in. */
  | 'fixed'
  | 'call'
  | 'varArgs';

export interface Expression {
  kind: ExpressionKind;
  info: number;
  aux: number;
  number: number;
  /** Jumps that leave when it is true, and those when it is false; −1: none. */
  whenTrue: number;
  whenFalse: number;
}

export function expression(kind: ExpressionKind, info = 0): Expression {
  return { kind, info, aux: 0, number: 0, whenTrue: -1, whenFalse: -1 };
}

export function assign(to: Expression, from: Expression): void {
  Object.assign(to, from);
}

export function hasJumps(e: Expression): boolean {
  return e.whenTrue !== e.whenFalse;
}

export function isMulti(e: Expression): boolean {
  return e.kind === 'call' || e.kind === 'varArgs';
}
