/** A signal that aborts when one of several does, for a while. */
export interface EitherSignal {
  readonly signal: AbortSignal;
  /** Nobody looks at it any more. */
  release(): void;
}

/**
 * As AbortSignal.any, which Node keeps in a table of its own while somebody listens, with all that
 * hangs on it: where the listener just ceases to be, as in a simulated crash, for ever.
 */
export function eitherSignal(...signals: readonly AbortSignal[]): EitherSignal {
  const either = new AbortController();
  const listeners = signals.map((signal) => {
    const tell = () => either.abort(signal.reason);
    if (signal.aborted) tell();
    else signal.addEventListener('abort', tell, { once: true });
    return () => signal.removeEventListener('abort', tell);
  });
  const release = () => {
    for (const unlisten of listeners) unlisten();
  };
  return { signal: either.signal, release };
}

/** Resolves when one of `signals` aborts, and leaves no listener with the others. */
export async function anyAborted(...signals: readonly AbortSignal[]): Promise<void> {
  const { signal, release } = eitherSignal(...signals);
  if (!signal.aborted) {
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  }
  release();
}
