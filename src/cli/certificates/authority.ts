/**
 * A small certificate authority: keys on the curve P-256, and X.509 certificates signed with its key.
 * What it makes is for the processes and clients of one cluster, which are given its certificate.
 */
import {
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  X509Certificate,
} from 'node:crypto';
import * as asn1 from 'asn1js';
import { KvorumError, messageOf } from '../../common/errors.ts';
import type { Random } from '../../common/random.ts';
import {
  authorityExtensions,
  type Der,
  keyIdOf,
  type LeafNames,
  leafExtensions,
  subjectKeyIdIn,
} from './extensions.ts';

const DAY_MS = 86_400_000;
/** Clocks of other machines may be behind: to them it is valid already. */
const BACKDATED_MS = 5 * 60_000;
const SERIAL_BYTES = 16;
/** From here on RFC 5280 wants years with four digits. */
const UTC_TIME_ENDS_MS = Date.UTC(2050);
const COMMON_NAME = '2.5.4.3';
const ECDSA_SHA256 = '1.2.840.10045.4.3.2';
const RSA_SHA256 = '1.2.840.113549.1.1.11';

/** Both in PEM. */
export interface KeyAndCertificate {
  readonly key: string;
  readonly certificate: string;
}

export interface Making {
  readonly random: Random;
  readonly nowMs: number;
  /** How long it is valid, from now on. */
  readonly days: number;
}

/** A key and the certificate that it signed itself. */
export function makeAuthority(name: string, making: Making): KeyAndCertificate {
  const { privateKey, publicKey } = newKey();
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const certificate = signed(privateKey, {
    ...making,
    issuer: nameOf(name),
    subject: nameOf(name),
    spki,
    extensions: authorityExtensions(keyIdOf(spki)),
  });
  return { key: pemOf(privateKey), certificate };
}

export interface Leaf extends LeafNames {
  readonly name: string;
}

/** A key and a certificate signed by `authority`; KvorumError BAD_ARGUMENT when that cannot sign it. */
export function issueCertificate(
  authority: KeyAndCertificate,
  leaf: Leaf,
  making: Making,
): KeyAndCertificate {
  const { certificate, key } = readAuthority(authority);
  const endsMs = Date.parse(certificate.validTo);
  if (wholeSecond(making.nowMs + making.days * DAY_MS) > endsMs) {
    const left = Math.floor((endsMs - wholeSecond(making.nowMs)) / DAY_MS);
    const text = `the authority's certificate ends on ${certificate.validTo}, in ${left} days: `;
    throw new KvorumError('BAD_ARGUMENT', `${text}ask for fewer days, or make another authority`);
  }
  const { subject, keyId } = issuerOf(certificate);
  const { privateKey, publicKey } = newKey();
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const issued = signed(key, {
    ...making,
    issuer: subject,
    subject: nameOf(leaf.name),
    spki,
    extensions: leafExtensions(leaf, keyIdOf(spki), keyId),
  });
  return { key: pemOf(privateKey), certificate: issued };
}

function readAuthority(pair: KeyAndCertificate) {
  let [certificate, key]: [X509Certificate?, KeyObject?] = [];
  try {
    certificate = new X509Certificate(pair.certificate);
    key = createPrivateKey(pair.key);
  } catch (cause) {
    const text = `the authority's files cannot be read (${messageOf(cause)})`;
    throw new KvorumError('BAD_ARGUMENT', text, { cause });
  }
  if (!certificate.ca) throw new KvorumError('BAD_ARGUMENT', 'its certificate is no authority');
  if (certificate.checkPrivateKey(key)) return { certificate, key };
  throw new KvorumError('BAD_ARGUMENT', "the authority's key is not that of its certificate");
}

function newKey() {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function nameOf(commonName: string): Der {
  const value = new asn1.Utf8String({ value: commonName });
  const type = new asn1.ObjectIdentifier({ value: COMMON_NAME });
  const attribute = new asn1.Sequence({ value: [type, value] });
  return new asn1.Sequence({ value: [new asn1.Set({ value: [attribute] })] });
}

/** As certificates that it signs name it: the bytes of its own subject, and its key's id. */
function issuerOf(certificate: X509Certificate): { readonly subject: Der; readonly keyId: Buffer } {
  const whole = asn1.fromBER(certificate.raw).result as asn1.Sequence;
  const fields = (whole.valueBlock.value[0] as asn1.Sequence).valueBlock.value;
  // version, serial, algorithm, issuer, validity, subject, key, then what is marked
  const subject = fields[5]! as Der;
  const marked = fields.find(({ idBlock }) => idBlock.tagClass === 3 && idBlock.tagNumber === 3);
  const [list] = (marked as asn1.Constructed).valueBlock.value as asn1.Sequence[];
  const named = subjectKeyIdIn(list!.valueBlock.value as asn1.Sequence[]);
  const spki = certificate.publicKey.export({ type: 'spki', format: 'der' });
  return { subject, keyId: named ?? keyIdOf(spki) };
}

interface ToSign extends Making {
  readonly issuer: Der;
  readonly subject: Der;
  readonly spki: Buffer;
  readonly extensions: readonly Der[];
}

/** The certificate as PEM. */
function signed(key: KeyObject, asked: ToSign): string {
  const algorithm = algorithmOf(key);
  const fromMs = asked.nowMs - BACKDATED_MS;
  const untilMs = asked.nowMs + asked.days * DAY_MS;
  const third = new asn1.Integer({ value: 2 });
  const list = new asn1.Sequence({ value: [...asked.extensions] });
  const fields = new asn1.Sequence({
    value: [
      marked(0, third),
      new asn1.Integer({ valueHex: serial(asked.random) }),
      algorithm,
      asked.issuer,
      new asn1.Sequence({ value: [timeOf(fromMs), timeOf(untilMs)] }),
      asked.subject,
      asn1.fromBER(asked.spki).result,
      marked(3, list),
    ],
  });
  const signature = sign('sha256', Buffer.from(fields.toBER()), key);
  const bits = new asn1.BitString({ valueHex: signature });
  const whole = new asn1.Sequence({ value: [fields, algorithm, bits] });
  return new X509Certificate(Buffer.from(whole.toBER())).toString();
}

function marked(tagNumber: number, value: Der): Der {
  return new asn1.Constructed({ idBlock: { tagClass: 3, tagNumber }, value: [value] });
}

/** Positive, and of its full length in every certificate. */
function serial(random: Random): Buffer {
  const bytes = Buffer.from(random.hex(SERIAL_BYTES), 'hex');
  bytes[0] = (bytes[0]! & 0x3f) | 0x40;
  return bytes;
}

/** Certificates know no parts of seconds. */
function wholeSecond(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000;
}

function timeOf(ms: number): Der {
  const valueDate = new Date(wholeSecond(ms));
  if (ms < UTC_TIME_ENDS_MS) return new asn1.UTCTime({ valueDate });
  return new asn1.GeneralizedTime({ valueDate });
}

function algorithmOf({ asymmetricKeyType }: KeyObject): Der {
  const id = (value: string) => new asn1.ObjectIdentifier({ value });
  if (asymmetricKeyType === 'ec') return new asn1.Sequence({ value: [id(ECDSA_SHA256)] });
  if (asymmetricKeyType === 'rsa') {
    return new asn1.Sequence({ value: [id(RSA_SHA256), new asn1.Null()] });
  }
  const text = `the authority's key is of the kind ${asymmetricKeyType}; it must be EC or RSA`;
  throw new KvorumError('BAD_ARGUMENT', text);
}
