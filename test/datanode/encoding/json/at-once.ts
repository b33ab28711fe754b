/** What the product does in slices, in one go: none of it needs the engine. */
import { findSpots } from '../../../../src/datanode/encoding/json/json-find.ts';
import { parseJson } from '../../../../src/datanode/encoding/json/json-parse.ts';
import { parsePath } from '../../../../src/datanode/encoding/json/json-path.ts';
import {
  COMPACT,
  type JsonLayout,
  jsonText,
} from '../../../../src/datanode/encoding/json/json-text.ts';
import type { Json } from '../../../../src/datanode/encoding/json/json-value.ts';
import type { Slices } from '../../../../src/datanode/encoding/steps/slices.ts';

export function finished<Result>(run: Slices<Result>, onPause: () => void = () => {}): Result {
  let step = run.next();
  while (!step.done) {
    onPause();
    step = run.next([]);
  }
  return step.value;
}

const ANY = { values: Infinity, characters: Infinity, depth: Infinity };

export function parsed(text: string): Json {
  return finished(parseJson(Buffer.from(text)));
}

export function textOf(value: Json, layout: JsonLayout = COMPACT): string {
  return finished(jsonText(value, ANY, layout));
}

/** What a path names, each as its text. */
export function found(root: Json, path: string): string[] {
  return finished(findSpots(root, parsePath(Buffer.from(path)))).map(({ value }) => textOf(value));
}
