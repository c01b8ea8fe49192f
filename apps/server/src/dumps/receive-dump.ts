import { freeChunks } from '@stackquay/archive'
import { DumpError, type DumpMode, type DumpNote } from '@stackquay/catalog'
import { ProblemError } from '@stackquay/contract'
import type { DatabaseDump } from '@stackquay/domain'
import { type Compression, compressionOf, unpacked } from './compression.ts'

/** What a dump is, once all of it was looked through. */
export interface SeenDump {
  readonly format: string
  readonly compression: Compression
  readonly bytes: number
  readonly contentBytes: number
  readonly notes: readonly DumpNote[]
}

/** Looks through all of a dump, as it comes. Throws `dump_unreadable` for one that cannot come in. */
export async function lookThrough(
  content: AsyncIterable<Uint8Array>,
  { formats, reader }: Pick<DatabaseDump, 'formats' | 'reader'>,
  mode: DumpMode,
  { mayBeEmpty = false }: { readonly mayBeEmpty?: boolean } = {},
): Promise<SeenDump> {
  const counted = counting(content)
  try {
    const { first, rest } = await beginningOf(counted.content, 8)
    const compression = compressionOf(first)
    const inside = counting(unpacked(rest, compression))
    const dump = await beginningOf(inside.content, 16)
    if (dump.first.length === 0 && !mayBeEmpty) throw new DumpError('The dump is empty.')
    // What was compressed twice, or in a form that nobody reads, is told in the same words.
    if (compressionOf(dump.first) !== 'none') throw new DumpError('The dump is compressed twice.')
    const format =
      formats.find(
        ({ magic }) => magic !== undefined && dump.first.subarray(0, magic.length).toString('latin1') === magic,
      ) ?? formats.find(({ magic }) => magic === undefined)
    if (format === undefined) throw new DumpError('The dump is of no format that this database reads.')
    const text = format.magic === undefined ? reader({ mode, key: '' }) : null
    for await (const chunk of dump.rest) text?.read(chunk)
    text?.end()
    return {
      ...{ format: format.name, compression, notes: text?.notes() ?? [] },
      ...{ bytes: counted.bytes(), contentBytes: inside.bytes() },
    }
  } catch (error) {
    throw dumpProblem(error)
  } finally {
    await counted.content.return(undefined)
  }
}

/** What goes to the program that reads the dump. */
export async function* contentFor(
  content: AsyncIterable<Uint8Array>,
  { format, compression }: Pick<SeenDump, 'format' | 'compression'>,
  { formats, reader }: Pick<DatabaseDump, 'formats' | 'reader'>,
  options: { readonly mode: DumpMode; readonly key: string; onBytes(bytes: number): void },
): AsyncGenerator<Uint8Array> {
  const isText = formats.find(({ name }) => name === format)?.magic === undefined
  const text = isText ? reader(options) : null
  const inside = counting(unpacked(content, compression))
  for await (const chunk of inside.content) {
    if (text === null) yield chunk
    else yield* text.read(chunk)
    options.onBytes(inside.bytes())
  }
  if (text !== null) yield* text.end()
}

export function dumpProblem(error: unknown): unknown {
  return error instanceof DumpError ? new ProblemError('dump_unreadable', error.message, { cause: error }) : error
}

function counting(content: AsyncIterable<Uint8Array>): { content: AsyncGenerator<Buffer>; bytes(): number } {
  let bytes = 0
  const passing = async function* () {
    for await (const chunk of content) {
      bytes += chunk.length
      freeChunks(chunk.length)
      yield Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
    }
  }
  return { content: passing(), bytes: () => bytes }
}

/** The first bytes, at most so many, and all of it. */
async function beginningOf(
  content: AsyncGenerator<Buffer>,
  most: number,
): Promise<{ first: Buffer; rest: AsyncGenerator<Buffer> }> {
  let first: Buffer = Buffer.alloc(0)
  while (first.length < most) {
    const next = await content.next()
    if (next.done === true) break
    first = first.length === 0 ? next.value : Buffer.concat([first, next.value])
  }
  const rest = async function* () {
    try {
      if (first.length > 0) yield first
      yield* content
    } finally {
      await content.return(undefined)
    }
  }
  return { first, rest: rest() }
}
