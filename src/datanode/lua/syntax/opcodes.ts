/**
 * Instructions are those of Lua 5.1's own machine, in 32 bits: 6 of what to do, 8 of A, 9 of C, 9 of B. So
 * registers, limits and what error messages can tell of a value are Lua's own too. Two differ: what a
 * closure takes along is in its prototype, and a step of `for in` is a call and a test.
 */
export const OP = {
  move: 0,
  loadConstant: 1,
  loadBoolean: 2,
  loadNil: 3,
  getUpvalue: 4,
  getGlobal: 5,
  getTable: 6,
  setGlobal: 7,
  setUpvalue: 8,
  setTable: 9,
  newTable: 10,
  self: 11,
  add: 12,
  subtract: 13,
  multiply: 14,
  divide: 15,
  modulo: 16,
  power: 17,
  negate: 18,
  not: 19,
  length: 20,
  concatenate: 21,
  jump: 22,
  equal: 23,
  lessThan: 24,
  lessOrEqual: 25,
  test: 26,
  testSet: 27,
  call: 28,
  tailCall: 29,
  return: 30,
  forLoop: 31,
  forPrepare: 32,
  forCall: 33,
  forTest: 34,
  setList: 35,
  close: 36,
  closure: 37,
  varArgs: 38,
} as const;

/** How many items of a constructor one setList stores. */
export const LIST_BATCH = 50;

export const A_MAX = 0xff;
export const B_MAX = 0x1ff;
export const BX_MAX = 0x3ffff;
export const OFFSET_MAX = BX_MAX >> 1;
/** In B and C: the operand is a constant, not a register. */
export const CONSTANT = 0x100;
export const NO_REGISTER = A_MAX;

export const opOf = (i: number) => i & 0x3f;
export const aOf = (i: number) => (i >>> 6) & 0xff;
export const cOf = (i: number) => (i >>> 14) & 0x1ff;
export const bOf = (i: number) => i >>> 23;
export const bxOf = (i: number) => i >>> 14;
export const offsetOf = (i: number) => (i >>> 14) - OFFSET_MAX;

export function encodeABC(op: number, a: number, b: number, c: number): number {
  return op | (a << 6) | (c << 14) | (b << 23);
}

export function encodeABx(op: number, a: number, bx: number): number {
  return op | (a << 6) | (bx << 14);
}

export const withA = (i: number, a: number) => (i & ~(0xff << 6)) | (a << 6);
export const withB = (i: number, b: number) => (i & ~(0x1ff << 23)) | (b << 23);
export const withC = (i: number, c: number) => (i & ~(0x1ff << 14)) | (c << 14);
export const withOffset = (i: number, offset: number) =>
  (i & 0x3fff) | ((offset + OFFSET_MAX) << 14);
