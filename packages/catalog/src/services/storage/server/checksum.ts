import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { type Crc64, combined, crc32c, crc64nvme } from './crc.ts'
import { S3Error } from './errors.ts'

/** The additional checksums of S3 ("Checking object integrity"), in the order in which they are looked for. */
const names = ['crc32', 'crc32c', 'crc64nvme', 'sha1', 'sha256'] as const

export type ChecksumName = (typeof names)[number]

/** As it is kept and answered. */
export interface Checksum {
  readonly name: ChecksumName
  /** Base64; of a composite one with the number of parts: `AAAAAA==-3`. */
  readonly value: string
  readonly type: ChecksumType
}

export type ChecksumType = 'FULL_OBJECT' | 'COMPOSITE'

export interface Hasher {
  update(data: Uint8Array): void
  digest(): Buffer
}

export function createHasher(name: ChecksumName): Hasher {
  if (name === 'sha1' || name === 'sha256') {
    const hash = createHash(name)
    return { update: (data) => void hash.update(data), digest: () => hash.digest() }
  }
  if (name === 'crc64nvme') {
    let crc: Crc64 = [0, 0]
    return {
      update: (data) => {
        crc = crc64nvme(data, crc)
      },
      digest: () => bigEndian(...crc),
    }
  }
  const next = name === 'crc32' ? crc32 : crc32c
  let crc = 0
  return {
    update: (data) => {
      crc = next(data, crc)
    },
    digest: () => bigEndian(crc),
  }
}

function bigEndian(...words: readonly number[]): Buffer {
  const bytes = Buffer.alloc(words.length * 4)
  for (const [at, word] of words.entries()) bytes.writeUInt32BE(word, at * 4)
  return bytes
}

export function checksumHeader(name: ChecksumName): string {
  return `x-amz-checksum-${name}`
}

/** `ChecksumCRC32` */
export function checksumElement(name: ChecksumName): string {
  return `Checksum${name.toUpperCase()}`
}

/** The algorithm of a header such as `x-amz-checksum-algorithm`; null when nothing was said. */
export function checksumNameOf(text: string | undefined): ChecksumName | null {
  if (text === undefined) return null
  const name = names.find((candidate) => candidate.toUpperCase() === text.toUpperCase())
  if (name === undefined) throw new S3Error('InvalidRequest', 'The checksum algorithm is not supported.')
  return name
}

/** What the headers promise: at most one checksum. */
export function declaredChecksum(
  header: (name: string) => string | undefined,
): { readonly name: ChecksumName; readonly value: string } | null {
  const declared = names.flatMap((name) => {
    const value = header(checksumHeader(name))
    return value === undefined ? [] : [{ name, value }]
  })
  if (declared.length > 1) throw new S3Error('InvalidRequest', 'Send one checksum header, not several.')
  const [one] = declared
  if (one !== undefined) refuseMalformed(one.name, one.value)
  return one ?? null
}

export function refuseMalformed(name: ChecksumName, value: string): void {
  const length = { crc32: 4, crc32c: 4, crc64nvme: 8, sha1: 20, sha256: 32 }[name]
  const bytes = Buffer.from(value, 'base64')
  if (bytes.length !== length || bytes.toString('base64') !== value) {
    throw new S3Error('InvalidRequest', `The value of ${checksumHeader(name)} is not valid.`)
  }
}

export function checksumHeaders(checksum: Checksum | null): Record<string, string> {
  if (checksum === null) return {}
  return { [checksumHeader(checksum.name)]: checksum.value, 'x-amz-checksum-type': checksum.type }
}

/** The checksum of an object out of those of its parts. */
export function checksumOfParts(
  name: ChecksumName,
  type: ChecksumType,
  parts: readonly { readonly value: string; readonly size: number }[],
): Checksum {
  const sums = parts.map(({ value }) => Buffer.from(value, 'base64'))
  if (type === 'COMPOSITE' || name === 'sha1' || name === 'sha256') {
    const hasher = createHasher(name)
    hasher.update(Buffer.concat(sums))
    return { name, type: 'COMPOSITE', value: `${hasher.digest().toString('base64')}-${parts.length}` }
  }
  const whole = combined(
    name,
    parts.map(({ size }, at) => ({ crc: sums[at]!, size })),
  )
  return { name, type, value: whole.toString('base64') }
}

/** The type of an upload's checksum, where nothing was said what S3 takes; some go only one way. */
export function checksumTypeOf(name: ChecksumName, said: string | undefined): ChecksumType {
  const type = said ?? (name === 'crc64nvme' ? 'FULL_OBJECT' : 'COMPOSITE')
  const possible =
    (type === 'COMPOSITE' && name !== 'crc64nvme') || (type === 'FULL_OBJECT' && name !== 'sha1' && name !== 'sha256')
  if (!possible) throw new S3Error('InvalidRequest', `The checksum type ${type} is not possible with ${name}.`)
  return type as ChecksumType
}
