/** Extensions of X.509 certificates (RFC 5280), those that a small authority needs. */
import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import * as asn1 from 'asn1js';

const SUBJECT_KEY_ID = '2.5.29.14';
const KEY_USAGE = '2.5.29.15';
const ALTERNATIVE_NAMES = '2.5.29.17';
const BASIC_CONSTRAINTS = '2.5.29.19';
const AUTHORITY_KEY_ID = '2.5.29.35';
const EXTENDED_KEY_USAGE = '2.5.29.37';
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';

/** Bits of KeyUsage, the first bit of the wire first. */
const DIGITAL_SIGNATURE = 0x80;
const CERT_AND_CRL_SIGN = 0x06;

const DNS_NAME = 2;
const IP_ADDRESS = 7;

/** Anything of the encoder that has a DER form. */
export type Der = asn1.AsnType;

const oid = (value: string) => new asn1.ObjectIdentifier({ value });

function extension(id: string, value: Der, critical = false): asn1.Sequence {
  const marks = critical ? [new asn1.Boolean({ value: true })] : [];
  const inside = new asn1.OctetString({ valueHex: value.toBER() });
  return new asn1.Sequence({ value: [oid(id), ...marks, inside] });
}

/** Of an authority that signs certificates of others, and no further authority. */
export function authorityExtensions(keyId: Buffer): Der[] {
  const isAuthority = [new asn1.Boolean({ value: true }), new asn1.Integer({ value: 0 })];
  return [
    extension(BASIC_CONSTRAINTS, new asn1.Sequence({ value: isAuthority }), true),
    extension(KEY_USAGE, keyUsage(CERT_AND_CRL_SIGN, 1), true),
    subjectKeyId(keyId),
  ];
}

export interface LeafNames {
  /** Names and addresses that a server is dialed by. */
  readonly hosts: readonly string[];
  /** Only for who dials: no server may show it. */
  readonly clientOnly: boolean;
}

/** Of a certificate that a process shows. */
export function leafExtensions(names: LeafNames, keyId: Buffer, issuerKeyId: Buffer): Der[] {
  const uses = names.clientOnly ? [CLIENT_AUTH] : [SERVER_AUTH, CLIENT_AUTH];
  const issuer = context(0, issuerKeyId);
  const all = [
    extension(BASIC_CONSTRAINTS, new asn1.Sequence({ value: [] }), true),
    extension(KEY_USAGE, keyUsage(DIGITAL_SIGNATURE, 7), true),
    extension(EXTENDED_KEY_USAGE, new asn1.Sequence({ value: uses.map(oid) })),
    subjectKeyId(keyId),
    extension(AUTHORITY_KEY_ID, new asn1.Sequence({ value: [issuer] })),
  ];
  if (names.hosts.length === 0) return all;
  const general = new asn1.Sequence({ value: names.hosts.map(generalName) });
  return [...all, extension(ALTERNATIVE_NAMES, general)];
}

/** What a certificate says its key is called (RFC 5280, 4.2.1.2); undefined when it does not. */
export function subjectKeyIdIn(extensions: readonly asn1.Sequence[]): Buffer | undefined {
  for (const { valueBlock } of extensions) {
    const [id] = valueBlock.value;
    const inside = valueBlock.value.at(-1);
    if (!(id instanceof asn1.ObjectIdentifier) || !(inside instanceof asn1.OctetString)) continue;
    if (id.getValue() !== SUBJECT_KEY_ID) continue;
    const { result } = asn1.fromBER(inside.valueBlock.valueHexView);
    if (result instanceof asn1.OctetString) return Buffer.from(result.valueBlock.valueHexView);
  }
  return undefined;
}

/** Of a SubjectPublicKeyInfo: the hash that this extension has by custom. */
export function keyIdOf(publicKey: Uint8Array): Buffer {
  return createHash('sha256').update(publicKey).digest().subarray(0, 20);
}

function subjectKeyId(keyId: Buffer): asn1.Sequence {
  return extension(SUBJECT_KEY_ID, new asn1.OctetString({ valueHex: keyId }));
}

function keyUsage(bits: number, unusedBits: number): asn1.BitString {
  return new asn1.BitString({ valueHex: Uint8Array.of(bits), unusedBits });
}

function generalName(host: string): Der {
  if (isIP(host) === 0) return context(DNS_NAME, Buffer.from(host, 'latin1'));
  return context(IP_ADDRESS, addressBytes(host));
}

function context(tagNumber: number, valueHex: Uint8Array): Der {
  return new asn1.Primitive({ idBlock: { tagClass: 3, tagNumber }, valueHex });
}

/** Of an address that `isIP` takes. */
function addressBytes(host: string): Buffer {
  if (isIP(host) === 4) return Buffer.from(host.split('.').map(Number));
  // the URL parser writes an IPv4 tail as groups, and knows where `::` stands
  const text = new URL(`http://[${host}]`).hostname.slice(1, -1);
  const [head = '', tail] = text.split('::');
  const groups = (part: string) => (part === '' ? [] : part.split(':'));
  const [before, after] = [groups(head), groups(tail ?? '')];
  const zeros = Array<string>(8 - before.length - after.length).fill('0');
  const all = [...before, ...zeros, ...after];
  return Buffer.concat(all.map((group) => Buffer.from(group.padStart(4, '0'), 'hex')));
}
