/** Real time, randomness and I/O throw inside a simulation: a run must follow from its seed alone. */
const trapped: readonly (readonly [object, string])[] = [
  [Date, 'now'],
  [Math, 'random'],
  [performance, 'now'],
  [process, 'hrtime'],
  [globalThis, 'setTimeout'],
  [globalThis, 'fetch'],
  [crypto, 'getRandomValues'],
  [crypto, 'randomUUID'],
];

/** Sets the traps; the returned function takes them away. */
export function setTraps(): () => void {
  const undo = trapped.map(([holder, name]) => {
    const before = Object.getOwnPropertyDescriptor(holder, name);
    Object.defineProperty(holder, name, {
      configurable: true,
      writable: true,
      value: () => {
        throw new Error(`${name} inside a simulation: take it from what is handed in`);
      },
    });
    return () => {
      if (before !== undefined) Object.defineProperty(holder, name, before);
      else delete (holder as Record<string, unknown>)[name];
    };
  });
  // redis-parser shrinks its scratch buffer by a timer: nobody can see whether it does
  const { setInterval } = globalThis;
  globalThis.setInterval = (() => 0) as unknown as typeof setInterval;
  return () => {
    globalThis.setInterval = setInterval;
    for (const restore of undo) restore();
  };
}
