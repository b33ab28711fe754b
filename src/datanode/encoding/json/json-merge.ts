/** JSON Merge Patch (RFC 7396). */
import { copyOfJson, type Json } from './json-value.ts';

/** What `target` becomes: changed in place where it is an object. */
export function mergedJson(target: Json, patch: Json): Json {
  if (!(patch instanceof Map)) return copyOfJson(patch);
  const merged = target instanceof Map ? target : new Map<string, Json>();
  for (const [name, value] of patch) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergedJson(merged.get(name) ?? null, value));
  }
  return merged;
}
