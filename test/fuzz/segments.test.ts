/** Log segments whose bytes are not what was written: all of it, a torn end less, or refused. */
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { scale } from '../scale.ts';
import { type Bending, bending } from './bytes.ts';
import { expectPrefix, headersOf, type LogImage, makeImage, open } from './log-images.ts';
import { checkAsync } from './property.ts';

const runs = scale.fuzzSegments;
const images: LogImage[] = [];

beforeAll(async () => {
  for (let seed = 1; seed <= scale.fuzzLogImages; seed++) images.push(await makeImage(seed));
});

const anyImage = fc.nat().map((number) => images[number % images.length]!);
const anyFile = (image: LogImage) => fc.constantFrom(...image.files.keys());

describe('a raft log', () => {
  test('opens as it was', async () => {
    for (const image of images) {
      const { digest } = await open(image.files);
      expect(digest).toBe(image.digests.at(-1));
    }
  });

  test('whose files were bent gives a whole history or names file and offset', async () => {
    let refused = 0;
    const input = anyImage.chain((image) =>
      fc.tuple(
        fc.constant(image),
        fc.array(fc.tuple(anyFile(image), bending), { minLength: 1, maxLength: 2 }),
      ),
    );
    await checkAsync(
      runs,
      fc.asyncProperty(input, async ([image, bends]) => {
        const files = new Map(image.files);
        for (const [name, bend] of bends) files.set(name, bend(files.get(name)!));
        const { digest } = await open(files);
        if (digest === undefined) refused++;
        else expectPrefix(image, files, digest);
      }),
    );
    expect(refused).toBeGreaterThan(runs / 4);
    expect(refused).toBeLessThan(runs);
  });

  test('with one batch damaged is refused, unless it is the newest', async () => {
    const input = anyImage.chain((image) => {
      const batches = headersOf(image.files);
      return fc.record({
        image: fc.constant(image),
        batch: fc.constantFrom(...batches),
        place: fc.nat(511),
        bit: fc.nat(7),
      });
    });
    await checkAsync(
      runs,
      fc.asyncProperty(input, async ({ image, batch, place, bit }) => {
        const bytes = Buffer.from(image.files.get(batch.name)!);
        const at = batch.at + place;
        if (at >= bytes.length) return;
        bytes[at]! ^= 1 << bit;
        const files = new Map(image.files).set(batch.name, bytes);
        const { digest, refusal } = await open(files);
        if (digest === undefined) {
          expect(refusal).toContain(`offset ${batch.at}`);
          return;
        }
        const newest = Math.max(...headersOf(image.files).map(({ seq }) => seq));
        if (batch.seq < newest - 1) expect(digest).toBe(image.digests.at(-1)); // a bit of padding
        expectPrefix(image, files, digest);
      }),
    );
  });

  test('that misses a file, or finds others beside its own, tells so or is whole', async () => {
    const names = fc.constantFrom('tail', 'tail.tmp', 'x', '.log', '000000000099.log', '99.log');
    const input = anyImage.chain((image) =>
      fc.record({
        image: fc.constant(image),
        gone: fc.option(anyFile(image)),
        more: fc.option(fc.tuple(names, fc.uint8Array({ maxLength: 600 }))),
      }),
    );
    await checkAsync(
      Math.ceil(runs / 4),
      fc.asyncProperty(input, async ({ image, gone, more }) => {
        const files = new Map(image.files);
        if (gone !== null) files.delete(gone);
        if (more !== null) files.set(more[0], Buffer.from(more[1]));
        const { digest } = await open(files);
        if (digest !== undefined) expectPrefix(image, files, digest);
      }),
    );
  });

  test('refused once is refused again, and its files are as they were found', async () => {
    const input = anyImage.chain((image) =>
      fc.tuple(fc.constant(image), anyFile(image), bending as fc.Arbitrary<Bending>),
    );
    await checkAsync(
      Math.ceil(runs / 4),
      fc.asyncProperty(input, async ([image, name, bend]) => {
        const found = new Map(image.files).set(name, bend(image.files.get(name)!));
        const first = await open(found);
        if (first.digest !== undefined) return;
        expect([...first.files.keys()]).toEqual([...found.keys()]);
        for (const [path, bytes] of found) expect(first.files.get(path)!.equals(bytes)).toBe(true);
        expect((await open(first.files)).refusal).toBe(first.refusal);
      }),
    );
  });
});
