/**
 * Numbers below `count`, small ones far more often: the k-th with a weight of 1 / k^exponent. By
 * inversion of the continuous density x^-exponent, as exact as a load needs it and without a table
 * of a million weights.
 */
export function zipf(count: number, exponent = 0.99): (uniform: number) => number {
  const power = 1 - exponent;
  const top = (count + 1) ** power - 1;
  return (uniform) => {
    const rank = (uniform * top + 1) ** (1 / power);
    return Math.min(count - 1, Math.floor(rank) - 1);
  };
}
