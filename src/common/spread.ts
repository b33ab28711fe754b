/**
 * Odd, and near 2³² divided by the golden ratio: its multiples, modulo 2³², are spread evenly
 * (Knuth, TAOCP 6.4).
 */
export const SPREAD = 0x9e3779b1;
