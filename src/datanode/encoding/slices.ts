/** Work that needs ranges of the engine: it yields each and is continued with its next slice. */
import type { KeyRange, KeyValue } from '../engine/engine.ts';

/** An empty slice is the end of its range (decision 7a). */
export type Slices<Result> = Generator<KeyRange, Result, readonly KeyValue[]>;
