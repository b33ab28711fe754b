/** Circles and boxes on the globe: the cells they may reach into, and what is really in them. */
import {
  boxOf,
  type Cell,
  type CellIndexes,
  cellIndexes,
  cellScores,
  decodePoint,
  degreesOf,
  distanceMeters,
  latitudeMeters,
  type Point,
  STEPS_MAX,
} from './geohash.ts';

export type Area = { readonly center: Point } & (
  | { readonly shape: 'circle'; readonly radiusMeters: number }
  | { readonly shape: 'box'; readonly widthMeters: number; readonly heightMeters: number }
);

/** Half the length of the equator as a Mercator map has it. */
const MERCATOR_MAX = 20037726.37;
/** From these latitudes on cells are so narrow that larger ones are taken. */
const NARROW_LATITUDE = 66;
const NARROWER_LATITUDE = 80;
/** Below, cells are too large for any of them to be left out. */
const EXCLUDING_STEPS_MIN = 2;

/** In the order in which Redis looks at them: steps to the north and to the east. */
const NEIGHBOURS: readonly (readonly [north: number, east: number])[] = [
  [0, 0],
  [1, 0],
  [-1, 0],
  [0, 1],
  [0, -1],
  [1, 1],
  [1, -1],
  [-1, 1],
  [-1, -1],
];

interface Bounds {
  readonly south: number;
  readonly north: number;
  readonly west: number;
  readonly east: number;
}

/** Meters from the center of `area` to the place of `score`; undefined when it is outside. */
export function distanceWithin(area: Area, score: number): number | undefined {
  const point = decodePoint(score);
  const { center } = area;
  if (area.shape === 'circle') {
    const meters = distanceMeters(center, point);
    return meters > area.radiusMeters ? undefined : meters;
  }
  if (latitudeMeters(point.latitude, center.latitude) > area.heightMeters / 2) return undefined;
  const sameLatitude = { ...center, latitude: point.latitude };
  if (distanceMeters(point, sameLatitude) > area.widthMeters / 2) return undefined;
  return distanceMeters(center, point);
}

/** At most nine ranges of scores that hold every point of the area (and others). */
export function cellsOf(area: Area): Cell[] {
  const bounds = boundsOf(area);
  let steps = stepsFor(area);
  let middle = cellIndexes(area.center, steps);
  if (steps > 1 && !reaches(middle, steps, bounds)) {
    steps--;
    middle = cellIndexes(area.center, steps);
  }
  const box = boxOf(middle, steps);
  const excludes = steps >= EXCLUDING_STEPS_MIN;
  const cells: Cell[] = [];
  for (const [north, east] of NEIGHBOURS) {
    const isUseless =
      (north < 0 && box.minLatitude < bounds.south) ||
      (north > 0 && box.maxLatitude > bounds.north) ||
      (east < 0 && box.minLongitude < bounds.west) ||
      (east > 0 && box.maxLongitude > bounds.east);
    if (excludes && isUseless) continue;
    const cell = cellScores(neighbour(middle, steps, north, east), steps);
    if (cells.at(-1)?.min !== cell.min) cells.push(cell);
  }
  return cells;
}

/** True when the cells around the middle one cover the bounds. */
function reaches(middle: CellIndexes, steps: number, bounds: Bounds): boolean {
  const around = (north: number, east: number) =>
    boxOf(neighbour(middle, steps, north, east), steps);
  return (
    around(1, 0).maxLatitude >= bounds.north &&
    around(-1, 0).minLatitude <= bounds.south &&
    around(0, 1).maxLongitude >= bounds.east &&
    around(0, -1).minLongitude <= bounds.west
  );
}

/** Around the globe in both directions; the last meridian has a cell behind the last, as in Redis. */
function neighbour(
  { latitude, longitude }: CellIndexes,
  steps: number,
  north: number,
  east: number,
): CellIndexes {
  const cells = 2 ** steps;
  const moved = (index: number, by: number) => (by === 0 ? index : (index + by + cells) % cells);
  return { latitude: moved(latitude, north), longitude: moved(longitude, east) };
}

/** How often the globe is halved so that three cells in a row surely cover the area. */
function stepsFor(area: Area): number {
  const meters =
    area.shape === 'circle'
      ? area.radiusMeters
      : Math.sqrt((area.widthMeters / 2) ** 2 + (area.heightMeters / 2) ** 2);
  if (meters === 0) return STEPS_MAX;
  let steps = -1;
  for (let range = meters; range < MERCATOR_MAX; range *= 2) steps++;
  const latitude = Math.abs(area.center.latitude);
  if (latitude > NARROW_LATITUDE) steps--;
  if (latitude > NARROWER_LATITUDE) steps--;
  return Math.max(1, Math.min(STEPS_MAX, steps));
}

function boundsOf(area: Area): Bounds {
  const { longitude, latitude } = area.center;
  const isCircle = area.shape === 'circle';
  const up = degreesOf(isCircle ? area.radiusMeters : area.heightMeters / 2);
  const across = degreesOf(isCircle ? area.radiusMeters : area.widthMeters / 2);
  // a degree of longitude is shortest where the area is next to a pole
  const farthest = latitude < 0 ? latitude - up : latitude + up;
  const aside = across / Math.cos((farthest * Math.PI) / 180);
  return {
    south: latitude - up,
    north: latitude + up,
    west: longitude - aside,
    east: longitude + aside,
  };
}
