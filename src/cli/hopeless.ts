/**
 * What no trying again mends: a password, a user, or a certificate is wrong. The SDK goes on trying, since
 * for a program that runs for months all of these may be put right; a verb says it to who typed it.
 */
const HOPELESS =
  /\b(?:WRONGPASS|NOAUTH|NOPERM)\b|\bERR AUTH\b|certificate|speaks TLS alone|does not speak TLS|wrong version number/i;
/** What a lookup of the partitions has heard of each that it asked. */
const LOOKUP = /^no (?:placedriver|datanode) tells the partitions: (.*)$/s;
const NEXT_ONE = /; (?=\S+:\d+: )/;

/** Whether a failure's text says so; of a lookup, of all that were asked. */
export function isHopeless(text: string): boolean {
  const [, reasons] = LOOKUP.exec(text) ?? [];
  return (reasons?.split(NEXT_ONE) ?? [text]).every((one) => HOPELESS.test(one));
}
