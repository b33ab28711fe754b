import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Area,
  cellsOf,
  distanceWithin,
} from '../../../../src/datanode/encoding/geo/geo-area.ts';
import {
  boxOf,
  cellIndexes,
  cellScores,
  decodePoint,
  encodePoint,
} from '../../../../src/datanode/encoding/geo/geohash.ts';

/** Middles of the smallest cells: at their edges what is inside is a matter of rounding. */
const point = fc.integer({ min: 0, max: 2 ** 52 - 1 }).map(decodePoint);
const anywhere = fc.record({
  longitude: fc.double({ min: -180, max: 179.99, noNaN: true }),
  latitude: fc.double({ min: -85, max: 85, noNaN: true }),
});

test('a place comes back within half a cell, and its score is the same again', () => {
  fc.assert(
    fc.property(anywhere, (place) => {
      const score = encodePoint(place);
      const found = decodePoint(score);
      expect(Math.abs(found.longitude - place.longitude)).toBeLessThan(181 / 2 ** 26);
      expect(Math.abs(found.latitude - place.latitude)).toBeLessThan(86 / 2 ** 26);
    }),
  );
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 52 - 1 }), (score) => {
      expect(encodePoint(decodePoint(score))).toBe(score);
    }),
  );
});

test('a cell has the scores of exactly the points in it', () => {
  fc.assert(
    fc.property(point, point, fc.integer({ min: 1, max: 26 }), (middle, other, steps) => {
      const indexes = cellIndexes(middle, steps);
      const { min, max } = cellScores(indexes, steps);
      const box = boxOf(indexes, steps);
      const score = encodePoint(other);
      const inside =
        other.longitude >= box.minLongitude &&
        other.longitude < box.maxLongitude &&
        other.latitude >= box.minLatitude &&
        other.latitude < box.maxLatitude;
      expect(score >= min && score < max).toBe(inside);
      expect(encodePoint(middle)).toBeGreaterThanOrEqual(min);
    }),
  );
});

test('the cells of an area hold every point within', () => {
  const meters = fc.double({ min: 1, max: 500_000, noNaN: true });
  const near = fc.double({ min: -3, max: 3, noNaN: true });
  const center = fc.record({
    longitude: fc.double({ min: -170, max: 170, noNaN: true }),
    latitude: fc.double({ min: -60, max: 60, noNaN: true }),
  });
  let within = 0;
  fc.assert(
    fc.property(center, meters, meters, near, near, fc.boolean(), (at, a, b, x, y, isCircle) => {
      const area: Area = isCircle
        ? { center: at, shape: 'circle', radiusMeters: a }
        : { center: at, shape: 'box', widthMeters: a, heightMeters: b };
      const score = encodePoint({ longitude: at.longitude + x, latitude: at.latitude + y });
      if (distanceWithin(area, score) === undefined) return;
      within++;
      expect(cellsOf(area).some(({ min, max }) => score >= min && score < max)).toBe(true);
    }),
    { numRuns: 2_000 },
  );
  expect(within).toBeGreaterThan(50);
});
