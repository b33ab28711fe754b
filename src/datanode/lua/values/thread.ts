/** A coroutine; `machine/` makes and runs them. */
export interface LuaThread {
  readonly kind: 'thread';
}
