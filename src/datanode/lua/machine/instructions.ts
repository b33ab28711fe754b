/** What each instruction does, by its number. */
import { OP } from '../syntax/opcodes.ts';
import { opGetGlobal, opGetTable, opSelf, opSetGlobal, opSetTable } from './access.ts';
import * as arithmetic from './arithmetic.ts';
import { opCall, opReturn, opTailCall } from './calls.ts';
import { opEqual, opLessOrEqual, opLessThan } from './comparison.ts';
import { opConcatenate } from './concatenation.ts';
import { opForCall, opForLoop, opForPrepare, opForTest } from './loops.ts';
import * as moves from './moves.ts';
import type { Thread } from './thread.ts';
import { makeClosure } from './upvalues.ts';

export type Instruction = (t: Thread, i: number) => void;

const byName: Readonly<Record<keyof typeof OP, Instruction>> = {
  move: moves.opMove,
  loadConstant: moves.opLoadConstant,
  loadBoolean: moves.opLoadBoolean,
  loadNil: moves.opLoadNil,
  getUpvalue: moves.opGetUpvalue,
  getGlobal: opGetGlobal,
  getTable: opGetTable,
  setGlobal: opSetGlobal,
  setUpvalue: moves.opSetUpvalue,
  setTable: opSetTable,
  newTable: moves.opNewTable,
  self: opSelf,
  add: arithmetic.opAdd,
  subtract: arithmetic.opSubtract,
  multiply: arithmetic.opMultiply,
  divide: arithmetic.opDivide,
  modulo: arithmetic.opModulo,
  power: arithmetic.opPower,
  negate: arithmetic.opNegate,
  not: moves.opNot,
  length: arithmetic.opLength,
  concatenate: opConcatenate,
  jump: moves.opJump,
  equal: opEqual,
  lessThan: opLessThan,
  lessOrEqual: opLessOrEqual,
  test: moves.opTest,
  testSet: moves.opTestSet,
  call: opCall,
  tailCall: opTailCall,
  return: opReturn,
  forLoop: opForLoop,
  forPrepare: opForPrepare,
  forCall: opForCall,
  forTest: opForTest,
  setList: moves.opSetList,
  close: moves.opClose,
  closure: makeClosure,
  varArgs: moves.opVarArgs,
};

export const INSTRUCTIONS: readonly Instruction[] = Object.entries(OP)
  .sort(([, a], [, b]) => a - b)
  .map(([name]) => byName[name as keyof typeof OP]);
