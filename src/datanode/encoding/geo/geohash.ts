/**
 * Places as scores, as Redis has them: longitude and latitude in 2^26 steps each, their bits taken
 * in turn (latitude in the even ones), so that 52 bits are a whole number that a double holds.
 * Neighbours in the order of scores are mostly neighbours on the globe: an area is few score ranges.
 */
export interface Point {
  readonly longitude: number;
  readonly latitude: number;
}

/** Scores s with min <= s < max. */
export interface Cell {
  readonly min: number;
  readonly max: number;
}

interface Box {
  readonly minLongitude: number;
  readonly maxLongitude: number;
  readonly minLatitude: number;
  readonly maxLatitude: number;
}

export const LONGITUDE_MAX = 180;
export const LATITUDE_MAX = 85.05112878;
const STANDARD_LATITUDE_MAX = 90;
export const STEPS_MAX = 26;
const EARTH_RADIUS_METERS = 6372797.560856;
const RADIANS = Math.PI / 180;
const LOW = 2 ** 32;
const SIGNED_TOP = 2 ** 63;
const MASK_64 = 2n ** 64n - 1n;
const ALPHABET = '0123456789bcdefghjkmnpqrstuvwxyz';
const TEXT_CHARACTERS = 11;
const TEXT_BITS = 5;

/** `point` must be within the longest longitude and latitude. */
export function encodePoint(point: Point): number {
  return interleave(cellIndexes(point, STEPS_MAX, LATITUDE_MAX));
}

/** The middle of the score's cell. Any score is some place, as in Redis. */
export function decodePoint(score: number): Point {
  const [latitude, longitude] = deinterleave(score);
  const box = boxOf({ latitude, longitude }, STEPS_MAX);
  return {
    longitude: clamp((box.minLongitude + box.maxLongitude) / 2, LONGITUDE_MAX),
    latitude: clamp((box.minLatitude + box.maxLatitude) / 2, LATITUDE_MAX),
  };
}

/** The standard geohash, whose latitudes reach the poles. The last of 11 characters is always 0. */
export function geohashText(score: number): string {
  const bits = BigInt(
    interleave(cellIndexes(decodePoint(score), STEPS_MAX, STANDARD_LATITUDE_MAX)),
  );
  let text = '';
  for (let at = 1; at < TEXT_CHARACTERS; at++) {
    const shift = BigInt(2 * STEPS_MAX - at * TEXT_BITS);
    text += ALPHABET[Number((bits >> shift) & 31n)];
  }
  return `${text}0`;
}

/** Along a great circle, in meters. */
export function distanceMeters(a: Point, b: Point): number {
  const v = Math.sin((b.longitude * RADIANS - a.longitude * RADIANS) / 2);
  if (v === 0) return latitudeMeters(a.latitude, b.latitude);
  const [from, to] = [a.latitude * RADIANS, b.latitude * RADIANS];
  const u = Math.sin((to - from) / 2);
  const square = u * u + Math.cos(from) * Math.cos(to) * v * v;
  return 2 * EARTH_RADIUS_METERS * Math.asin(Math.sqrt(square));
}

export function latitudeMeters(a: number, b: number): number {
  return EARTH_RADIUS_METERS * Math.abs(b * RADIANS - a * RADIANS);
}

/** Degrees that are `meters` long on a meridian. */
export function degreesOf(meters: number): number {
  return meters / EARTH_RADIUS_METERS / RADIANS;
}

export interface CellIndexes {
  readonly latitude: number;
  readonly longitude: number;
}

/** Which of the 2^steps × 2^steps cells a point is in. */
export function cellIndexes(
  { longitude, latitude }: Point,
  steps: number,
  latitudeMax = LATITUDE_MAX,
): CellIndexes {
  const cells = 2 ** steps;
  return {
    latitude: Math.trunc(((latitude + latitudeMax) / (latitudeMax - -latitudeMax)) * cells),
    longitude: Math.trunc(((longitude + LONGITUDE_MAX) / (2 * LONGITUDE_MAX)) * cells),
  };
}

export function boxOf({ latitude, longitude }: CellIndexes, steps: number): Box {
  const cells = 2 ** steps;
  const edge = (index: number, max: number) => -max + (index / cells) * (2 * max);
  return {
    minLongitude: edge(longitude, LONGITUDE_MAX),
    maxLongitude: edge(longitude + 1, LONGITUDE_MAX),
    minLatitude: edge(latitude, LATITUDE_MAX),
    maxLatitude: edge(latitude + 1, LATITUDE_MAX),
  };
}

/** The scores of all points in a cell. */
export function cellScores(indexes: CellIndexes, steps: number): Cell {
  const factor = 2 ** (2 * (STEPS_MAX - steps));
  const bits = interleave(indexes);
  return { min: bits * factor, max: (bits + 1) * factor };
}

function interleave({ latitude, longitude }: CellIndexes): number {
  const low = spread(latitude & 0xffff) + spread(longitude & 0xffff) * 2;
  const high = spread(latitude >>> 16) + spread(longitude >>> 16) * 2;
  return high * LOW + low;
}

function deinterleave(score: number): readonly [even: number, odd: number] {
  const [high, low] = bitsOf(score);
  return [gather(high) * 0x1_0000 + gather(low), gather(high >>> 1) * 0x1_0000 + gather(low >>> 1)];
}

/** 16 bits to the even ones of 32. */
function spread(bits: number): number {
  let each = bits;
  each = (each | (each << 8)) & 0x00ff00ff;
  each = (each | (each << 4)) & 0x0f0f0f0f;
  each = (each | (each << 2)) & 0x33333333;
  return ((each | (each << 1)) & 0x55555555) >>> 0;
}

/** The even bits of 32. */
function gather(bits: number): number {
  let each = bits & 0x55555555;
  each = (each | (each >>> 1)) & 0x33333333;
  each = (each | (each >>> 2)) & 0x0f0f0f0f;
  each = (each | (each >>> 4)) & 0x00ff00ff;
  return (each | (each >>> 8)) & 0xffff;
}

/** As x86-64 converts a double to 64 bits without sign; two halves of 32. */
function bitsOf(score: number): readonly [high: number, low: number] {
  if (score >= 0 && score <= Number.MAX_SAFE_INTEGER) {
    const whole = Math.trunc(score);
    return [Math.floor(whole / LOW), whole % LOW];
  }
  const bits = wideBits(score);
  return [Number(bits >> 32n), Number(bits & 0xffff_ffffn)];
}

function wideBits(score: number): bigint {
  if (score >= SIGNED_TOP * 2) return 0n;
  if (score < -SIGNED_TOP) return BigInt(SIGNED_TOP);
  return BigInt(Math.trunc(score)) & MASK_64;
}

function clamp(degrees: number, max: number): number {
  return Math.max(-max, Math.min(max, degrees));
}
