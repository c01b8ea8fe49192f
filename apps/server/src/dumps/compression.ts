import { Readable, type Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip, createZstdCompress, createZstdDecompress } from 'node:zlib'
import { DumpError } from '@stackquay/catalog'
import type { dumpCompressions } from '@stackquay/contract'

export type Compression = (typeof dumpCompressions)[number]

/** Of what comes out. With Node’s own 16 KB the way from thread to thread takes longer than the work. */
const chunkSize = 256 << 10

const forms: Readonly<Record<Exclude<Compression, 'none'>, { pack(): Transform; unpack(): Transform }>> = {
  gzip: { pack: () => createGzip({ level: 6 }), unpack: () => createGunzip({ chunkSize }) },
  zstd: { pack: () => createZstdCompress(), unpack: () => createZstdDecompress({ chunkSize }) },
}

export function compressed(content: AsyncIterable<Uint8Array>, compression: Compression): AsyncIterable<Uint8Array> {
  return compression === 'none' ? content : through(content, forms[compression].pack())
}

/** Throws `DumpError` for what is damaged, or ends before its end. */
export async function* unpacked(
  content: AsyncIterable<Uint8Array>,
  compression: Compression,
): AsyncGenerator<Uint8Array> {
  if (compression === 'none') return yield* content
  try {
    yield* through(content, forms[compression].unpack())
  } catch (error) {
    if (!(error instanceof Error) || !/^(Z_|ZSTD_)/.test(String((error as NodeJS.ErrnoException).code))) throw error
    throw new DumpError(`What was compressed with ${compression} is damaged or was cut off: ${error.message}.`)
  }
}

/** By the first bytes. Throws `DumpError` for what cannot be read here. */
export function compressionOf(first: Uint8Array): Compression {
  const begins = (...bytes: readonly number[]) => bytes.every((byte, at) => first[at] === byte)
  if (begins(0x1f, 0x8b)) return 'gzip'
  if (begins(0x28, 0xb5, 0x2f, 0xfd)) return 'zstd'
  const other = others.find(({ bytes }) => begins(...bytes))
  if (other !== undefined)
    throw new DumpError(`The dump is ${other.is}. Send it as it is, or compressed with gzip or zstd.`)
  return 'none'
}

const others: readonly { readonly bytes: readonly number[]; readonly is: string }[] = [
  { bytes: [0xfd, 0x37, 0x7a, 0x58, 0x5a], is: 'compressed with xz' },
  { bytes: [0x42, 0x5a, 0x68], is: 'compressed with bzip2' },
  { bytes: [0x50, 0x4b, 0x03, 0x04], is: 'a ZIP archive' },
  { bytes: [0x04, 0x22, 0x4d, 0x18], is: 'compressed with LZ4' },
  { bytes: [0xff, 0xfe], is: 'text in UTF-16, as ">" writes it in PowerShell' },
]

async function* through(content: AsyncIterable<Uint8Array>, transform: Transform): AsyncGenerator<Uint8Array> {
  const done = pipeline(Readable.from(content, { objectMode: false }), transform)
  // Whoever reads sees it as the end of the transform.
  done.catch(() => undefined)
  try {
    yield* transform as AsyncIterable<Uint8Array>
  } finally {
    transform.destroy()
  }
}
