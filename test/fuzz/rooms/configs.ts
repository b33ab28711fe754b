/** Configuration files of any content: a config, or one line that names file and place. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { parseConfig } from '../../../src/cli/config-file.ts';
import { KvorumError } from '../../../src/common/errors.ts';
import type { Random } from '../../../src/common/random.ts';
import { datanodeConfigSchema } from '../../../src/datanode/config.ts';
import { placedriverConfigSchema } from '../../../src/placedriver/config.ts';
import { bendJson, bendText } from '../engine/bend-json.ts';
import { hold, type Room, wayOf } from '../engine/room.ts';
import type { Json } from '../json-mutations.ts';

/** Beside the repository's own folder: the engine runs compiled, elsewhere. */
const folder = join(process.cwd(), 'configs');
const names = ['datanode', 'placedriver', 'placedriver-etcd'] as const;
const schemas = [datanodeConfigSchema, placedriverConfigSchema, placedriverConfigSchema] as const;

/** The refusal, or undefined: it was taken. Throws for any other outcome. */
export function configRefusal(sample: number, text: string): string | undefined {
  const file = `${names[sample]}.yaml`;
  try {
    parseConfig(text, file, schemas[sample] as typeof placedriverConfigSchema);
    return undefined;
  } catch (failure) {
    if (!(failure instanceof KvorumError) || failure.code !== 'BAD_CONFIG') throw failure;
    const { message } = failure;
    hold(message.startsWith(`${file}:`), () => `the refusal names no file: ${message}`);
    hold(message.length < 4_000, () => `a refusal of ${message.length} characters`);
    hold(!/call stack|\n {4}at /.test(message), () => `no refusal for a person: ${message}`);
    return message;
  }
}

const inputOf = (sample: number, text: string) => Buffer.from(`${sample}${text}`);
const sampleOf = (input: Buffer) => Math.abs((input[0] ?? 0x30) - 0x30) % names.length;
const textOf = (input: Buffer) => input.toString('utf8', 1);

function bend(input: Buffer, other: Buffer, random: Random): Buffer {
  let text = textOf(input);
  if (random.below(3) === 0) text = bentSettings(text, textOf(other), random);
  else {
    for (let left = 1 + random.below(3); left > 0; left--) {
      text = bendText(text, textOf(other), random);
    }
  }
  return inputOf(sampleOf(input), text.slice(0, 8_000));
}

/** Most texts are bent many times, and YAML is slow to parse. */
const parsed = new Map<string, Json>();

function settingsIn(text: string): Json {
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const value = parse(text, { maxAliasCount: 10, logLevel: 'silent' }) as Json;
  if (parsed.size >= 500) parsed.clear();
  parsed.set(text, value);
  return value;
}

/** YAML again, with one of its values changed. */
function bentSettings(text: string, other: string, random: Random): string {
  try {
    return stringify(bendJson(settingsIn(text), settingsIn(other), random));
  } catch {
    return bendText(text, other, random); // it is no YAML any more
  }
}

const more = [
  'name: &a {b: *a}\n',
  'a: &a [1]\nb: &b [*a,*a]\nc: [*b,*b]\n',
  '? - a\n: - b\n--- \n...\n',
  '!!map {name: !t x, ports: !!str 7}\n',
  'name: |\n  text\n  more\nports: >-\n  x\n',
  '%YAML 1.2\n---\nname: "a\\u0041"\n<<: *x\n',
];

export async function openConfigs(): Promise<Room> {
  const texts = names.map((name) => readFileSync(join(folder, `${name}.yaml`), 'utf8'));
  return {
    name: 'configs',
    share: 2,
    seeds: [
      ...texts.map((text, sample) => inputOf(sample, text)),
      // without comments most of a text is settings
      ...texts.map((text, sample) => inputOf(sample, stringify(parse(text)))),
      ...more.map((text, at) => inputOf(at % names.length, text)),
    ],
    bend,
    judge(input) {
      const refusal = configRefusal(sampleOf(input), textOf(input));
      return refusal === undefined ? 'taken' : wayOf(refusal.replace(/^[^:]*:(\d+:\d+:)?/, ''));
    },
  };
}
