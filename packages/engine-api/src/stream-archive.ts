import { EngineError } from './errors.ts'
import { blockBytes, encodeEntry, isHeader, parseHeader } from './tar-blocks.ts'

/*
 * One stream as kept data, whose engine takes archives of folders and need not understand what is in it: numbered files, and one that
 * says how many bytes all have. Engines answer them by name, so they come back in order; where one does not, later ones wait in memory.
 */

const pieceBytes = 4 << 20
const endName = 'end'

/** The archive of a folder that holds the stream. */
export async function* archiveOfStream(
  content: AsyncIterable<Uint8Array>,
  ofPiece: number = pieceBytes,
): AsyncGenerator<Buffer, void> {
  yield entry('./', 'directory', 0o700, 0)
  const waiting: Buffer[] = []
  let held = 0
  let pieces = 0
  let bytes = 0
  const piece = () => {
    const whole = Buffer.concat(waiting.splice(0))
    held = 0
    pieces += 1
    return file(nameOf(pieces), whole)
  }
  for await (const chunk of content) {
    bytes += chunk.length
    for (let at = 0; at < chunk.length; ) {
      const part = chunk.subarray(at, at + ofPiece - held)
      // Whose stream it is may use its buffer again.
      waiting.push(Buffer.from(part))
      held += part.length
      at += part.length
      if (held === ofPiece) yield piece()
    }
  }
  if (held > 0) yield piece()
  yield file(endName, Buffer.from(endOf(pieces, bytes)))
  yield Buffer.alloc(2 * blockBytes)
}

/**
 * The stream that the archive of such a folder holds. Throws `invalid_archive` where anything of it is missing, and where more comes before
 * its turn than may wait.
 */
export async function* streamOfArchive(
  archive: AsyncIterable<Uint8Array>,
  { mostWaiting = Number.POSITIVE_INFINITY }: { readonly mostWaiting?: number } = {},
): AsyncGenerator<Buffer, void> {
  const early = new Map<string, Buffer>()
  let waiting = 0
  let next = 1
  let bytes = 0
  let end = ''
  for await (const { name, content } of filesOf(archive)) {
    if (name === endName) end = content.toString('utf8')
    else {
      early.set(name, content)
      waiting += content.length
    }
    for (;;) {
      const wanted = nameOf(next)
      const piece = early.get(wanted)
      if (piece === undefined) break
      early.delete(wanted)
      waiting -= piece.length
      next += 1
      bytes += piece.length
      yield piece
    }
    if (waiting > mostWaiting) throw damaged('its files are in another order')
  }
  if (end !== endOf(next - 1, bytes) || early.size > 0) throw damaged('it is not whole')
}

function nameOf(piece: number): string {
  return String(piece).padStart(8, '0')
}

function endOf(pieces: number, bytes: number): string {
  return JSON.stringify({ pieces, bytes })
}

/** Files of the folder itself, each as one piece. */
async function* filesOf(archive: AsyncIterable<Uint8Array>) {
  let buffer = Buffer.alloc(0)
  const source = archive[Symbol.asyncIterator]()
  const take = async (count: number): Promise<Buffer | null> => {
    const parts = [buffer]
    let length = buffer.length
    while (length < count) {
      const { value, done } = await source.next()
      if (done === true) return null
      parts.push(Buffer.from(value))
      length += value.length
    }
    const whole = Buffer.concat(parts)
    buffer = whole.subarray(count)
    return whole.subarray(0, count)
  }
  try {
    for (;;) {
      const block = await take(blockBytes)
      if (block === null || block[0] === 0) break
      const found = isHeader(block) ? parseHeader(block) : null
      if (found === null || found.size > 2 * pieceBytes) throw damaged('it holds what was not put there')
      const content = await take(Math.ceil(found.size / blockBytes) * blockBytes)
      if (content === null) throw damaged('it ends early')
      const name = found.name.replace(/^\.\//, '')
      if (found.type === '0' && !name.includes('/')) yield { name, content: content.subarray(0, found.size) }
    }
    // To its own end, so that errors of who sends it are not missed.
    for (let more = await source.next(); more.done !== true; more = await source.next());
  } finally {
    await source.return?.()
  }
}

function file(name: string, content: Buffer): Buffer {
  const padding = Buffer.alloc(Math.ceil(content.length / blockBytes) * blockBytes - content.length)
  return Buffer.concat([entry(`./${name}`, 'file', 0o600, content.length), content, padding])
}

function entry(name: string, kind: 'file' | 'directory', mode: number, size: number): Buffer {
  const modified = Buffer.from('00000000000\0', 'latin1')
  return encodeEntry({ name, link: '', mode, uid: 0, gid: 0, size, modified, kind, sparse: null })
}

function damaged(why: string): EngineError {
  return new EngineError('invalid_archive', `The copy cannot be used: ${why}.`, { hint: 'Use another one.' })
}
