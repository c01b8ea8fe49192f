import { createHmac, randomInt, timingSafeEqual } from 'node:crypto'
import { quoted } from '../../failure.ts'
import type { TxtRecord } from '../provider.ts'

/*
 * Dynamic update (RFC 2136) of one TXT record, signed with TSIG (RFC 8945). Libraries for DNS packets know neither the class
 * NONE nor signatures, so these few bytes are put together here.
 */

export const tsigAlgorithms = ['hmac-sha256', 'hmac-sha384', 'hmac-sha512'] as const
export type TsigAlgorithm = (typeof tsigAlgorithms)[number]

export interface TsigKey {
  readonly name: string
  readonly algorithm: TsigAlgorithm
  readonly secret: Buffer
}

const typeSoa = 6
const typeTxt = 16
const typeTsig = 250
const classIn = 1
const classNone = 254
const classAny = 255
const opcodeUpdate = 5
const ttlSeconds = 60
const fudgeSeconds = 300

export interface Update {
  readonly act: 'add' | 'remove'
  readonly zone: string
  readonly record: TxtRecord
  readonly key: TsigKey
  readonly now: Date
}

export interface Signed {
  readonly bytes: Buffer
  /** The answer is signed over it. */
  readonly requestMac: Buffer
}

export function updateMessage({ act, zone, record, key, now }: Update): Signed {
  const id = randomInt(0x1_0000)
  const value = Buffer.from(record.value)
  const data = Buffer.concat([Buffer.from([value.length]), value])
  const body = Buffer.concat([
    name(zone),
    numbers16(typeSoa, classIn),
    name(record.name),
    numbers16(typeTxt, act === 'add' ? classIn : classNone),
    number32(act === 'add' ? ttlSeconds : 0),
    numbers16(data.length),
    data,
  ])
  // One zone, no prerequisites, one update.
  const unsigned = Buffer.concat([header(id, 0), body])
  const seconds = Math.floor(now.getTime() / 1000)
  const requestMac = mac(key, [unsigned, variables(key, seconds, 0, Buffer.alloc(0))])
  const rdata = Buffer.concat([
    name(key.algorithm),
    number48(seconds),
    numbers16(fudgeSeconds, requestMac.length),
    requestMac,
    numbers16(id, 0, 0),
  ])
  const tsig = Buffer.concat([
    name(key.name),
    numbers16(typeTsig, classAny),
    number32(0),
    numbers16(rdata.length),
    rdata,
  ])
  return { bytes: Buffer.concat([header(id, 1), body, tsig]), requestMac }
}

function header(id: number, additional: number): Buffer {
  return numbers16(id, opcodeUpdate << 11, 1, 0, 1, additional)
}

/** What is signed besides the message: RFC 8945, 4.3.3. */
function variables(key: TsigKey, seconds: number, error: number, other: Buffer, fudge = fudgeSeconds): Buffer {
  return Buffer.concat([
    name(key.name.toLowerCase()),
    numbers16(classAny),
    number32(0),
    name(key.algorithm),
    number48(seconds),
    numbers16(fudge, error, other.length),
    other,
  ])
}

function mac({ algorithm, secret }: TsigKey, parts: readonly Buffer[]): Buffer {
  const hmac = createHmac(algorithm.slice('hmac-'.length), secret)
  for (const part of parts) hmac.update(part)
  return hmac.digest()
}

export interface Answer {
  readonly rcode: number
  /** Why the answer is not to be believed, or why the server did not believe us. Null when neither. */
  readonly error: string | null
}

interface Asked {
  readonly key: TsigKey
  readonly requestMac: Buffer
  readonly asked: Buffer
}

const tsigErrors: Readonly<Record<number, string>> = {
  16: 'it knows the key, but not this secret (BADSIG). Check secret and algorithm.',
  17: 'it does not know the key (BADKEY). Check its name and algorithm.',
  22: 'it wants longer signatures (BADTRUNC).',
}

export function readAnswer(bytes: Buffer, { key, requestMac, asked }: Asked): Answer {
  try {
    if (bytes.readUInt16BE(0) !== asked.readUInt16BE(0)) return { rcode: 2, error: 'it answers another question.' }
    const rcode = bytes.readUInt16BE(2) & 0xf
    const tsig = findTsig(bytes)
    if (tsig === null) return { rcode, error: rcode === 0 ? 'its answer is not signed.' : null }
    if (tsig.error === 18) return { rcode, error: wrongTime(tsig) }
    const known = tsigErrors[tsig.error]
    if (known !== undefined) return { rcode, error: known }
    return { rcode, error: isSignedBy(bytes, tsig, key, requestMac) ? null : 'the signature of its answer is wrong.' }
  } catch {
    return { rcode: 2, error: 'its answer cannot be read.' }
  }
}

/** BADTIME carries the server's clock. */
function wrongTime({ seconds, other }: Tsig): string {
  const theirs = other.length === 6 ? other.readUIntBE(0, 6) : null
  const by = theirs === null ? '' : ` by ${Math.abs(theirs - seconds)} s`
  return `its clock and the one of this machine differ${by} (BADTIME). Set the clock, for example with NTP.`
}

interface Tsig {
  readonly at: number
  readonly seconds: number
  readonly fudge: number
  readonly mac: Buffer
  readonly originalId: number
  readonly error: number
  readonly other: Buffer
}

/** It is always the last record. */
function findTsig(bytes: Buffer): Tsig | null {
  let at = 12
  for (let question = bytes.readUInt16BE(4); question > 0; question -= 1) at = afterName(bytes, at) + 4
  const records = bytes.readUInt16BE(6) + bytes.readUInt16BE(8) + bytes.readUInt16BE(10)
  for (let record = 1; record <= records; record += 1) {
    const start = at
    at = afterName(bytes, at)
    const type = bytes.readUInt16BE(at)
    const end = at + 10 + bytes.readUInt16BE(at + 8)
    if (record === records && type === typeTsig) return readTsig(bytes, start, at + 10)
    at = end
  }
  return null
}

function readTsig(bytes: Buffer, start: number, rdata: number): Tsig {
  const at = afterName(bytes, rdata)
  const macLength = bytes.readUInt16BE(at + 8)
  const after = at + 10 + macLength
  const otherLength = bytes.readUInt16BE(after + 4)
  return {
    at: start,
    seconds: bytes.readUIntBE(at, 6),
    fudge: bytes.readUInt16BE(at + 6),
    mac: bytes.subarray(at + 10, after),
    originalId: bytes.readUInt16BE(after),
    error: bytes.readUInt16BE(after + 2),
    other: bytes.subarray(after + 6, after + 6 + otherLength),
  }
}

function isSignedBy(bytes: Buffer, tsig: Tsig, key: TsigKey, requestMac: Buffer): boolean {
  // As it was before the signature was added: without its record, counted without it, with the id of then.
  const message = Buffer.from(bytes.subarray(0, tsig.at))
  message.writeUInt16BE(tsig.originalId, 0)
  message.writeUInt16BE(message.readUInt16BE(10) - 1, 10)
  const expected = mac(key, [
    numbers16(requestMac.length),
    requestMac,
    message,
    variables(key, tsig.seconds, tsig.error, tsig.other, tsig.fudge),
  ])
  return tsig.mac.length === expected.length && timingSafeEqual(tsig.mac, expected)
}

function afterName(bytes: Buffer, from: number): number {
  for (let at = from; ; ) {
    const length = bytes.readUInt8(at)
    if (length === 0) return at + 1
    if ((length & 0xc0) === 0xc0) return at + 2
    at += length + 1
  }
}

function name(text: string): Buffer {
  const labels = text.replace(/\.$/, '').split('.')
  const parts = labels.map((label) => {
    const bytes = Buffer.from(label, 'ascii')
    if (bytes.length === 0 || bytes.length > 63) throw new RangeError(`${quoted(text, 100)} is no DNS name`)
    return Buffer.concat([Buffer.from([bytes.length]), bytes])
  })
  return Buffer.concat([...parts, Buffer.from([0])])
}

function numbers16(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2)
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, index * 2)
  return bytes
}

function number32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function number48(value: number): Buffer {
  const bytes = Buffer.alloc(6)
  bytes.writeUIntBE(value, 0, 6)
  return bytes
}

const rcodes = [
  'NOERROR',
  'FORMERR',
  'SERVFAIL',
  'NXDOMAIN',
  'NOTIMP',
  'REFUSED',
  'YXDOMAIN',
  'YXRRSET',
  'NXRRSET',
  'NOTAUTH',
  'NOTZONE',
]

export function rcodeName(rcode: number): string {
  return rcodes[rcode] ?? String(rcode)
}
