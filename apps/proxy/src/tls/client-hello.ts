/** What a client says before anything is encrypted, as far as it is needed to choose who answers. */
export interface ClientHello {
  readonly serverName: string | undefined
  readonly protocols: readonly string[]
}

/** More than any honest first message. */
export const longestClientHello = 16 * 1024

/**
 * Reads the first message of a TLS connection (RFC 8446, 4.1.2). `incomplete`: more bytes are needed; null: it is none, and TLS itself
 * finds the words for that.
 */
export function readClientHello(bytes: Buffer): ClientHello | 'incomplete' | null {
  const message = handshakeOf(bytes)
  if (message === null || message === 'incomplete') return message
  try {
    return extensionsOf(new Reader(message))
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** The message may be cut into several records. */
function handshakeOf(bytes: Buffer): Buffer | 'incomplete' | null {
  const parts: Buffer[] = []
  let have = 0
  for (let at = 0; at + 5 <= bytes.length; ) {
    if (bytes[at] !== handshakeRecord) return null
    const length = bytes.readUInt16BE(at + 3)
    if (length === 0) return null
    const part = bytes.subarray(at + 5, at + 5 + length)
    parts.push(part)
    have += part.length
    const message = Buffer.concat(parts)
    if (message.length > 0 && message[0] !== clientHello) return null
    if (message.length >= 4 && have >= message.readUIntBE(1, 3) + 4)
      return message.subarray(4, message.readUIntBE(1, 3) + 4)
    at += 5 + length
  }
  return bytes.length >= longestClientHello || (bytes.length > 0 && bytes[0] !== handshakeRecord) ? null : 'incomplete'
}

const handshakeRecord = 22
const clientHello = 1

function extensionsOf(hello: Reader): ClientHello {
  // Version and random value.
  hello.skip(34)
  hello.skip(hello.number(1))
  hello.skip(hello.number(2))
  hello.skip(hello.number(1))
  let serverName: string | undefined
  const protocols: string[] = []
  if (hello.left === 0) return { serverName, protocols }
  const extensions = hello.part(hello.number(2))
  while (extensions.left > 0) {
    const kind = extensions.number(2)
    const body = extensions.part(extensions.number(2))
    if (kind === 0) {
      const names = body.part(body.number(2))
      if (names.number(1) === 0) serverName = names.text(names.number(2)).toLowerCase()
    } else if (kind === 16) {
      const names = body.part(body.number(2))
      while (names.left > 0) protocols.push(names.text(names.number(1)))
    }
  }
  return { serverName, protocols }
}

/** Throws RangeError where the bytes end too early. */
class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get left(): number {
    return this.#bytes.length - this.#at
  }

  number(size: 1 | 2): number {
    const value = this.#bytes.readUIntBE(this.#at, size)
    this.#at += size
    return value
  }

  skip(size: number): void {
    if (size > this.left) throw new RangeError('It ends too early.')
    this.#at += size
  }

  part(size: number): Reader {
    const from = this.#at
    this.skip(size)
    return new Reader(this.#bytes.subarray(from, from + size))
  }

  text(size: number): string {
    const from = this.#at
    this.skip(size)
    return this.#bytes.toString('latin1', from, from + size)
  }
}
