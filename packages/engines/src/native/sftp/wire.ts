/*
 * Packets of SFTP, version 3 (draft-ietf-secsh-filexfer-02): a length, a type, and what belongs to it. Names are kept as bytes: a text
 * here holds one byte in each character.
 */

export const packets = {
  init: 1,
  version: 2,
  open: 3,
  close: 4,
  read: 5,
  write: 6,
  lstat: 7,
  fstat: 8,
  setstat: 9,
  fsetstat: 10,
  opendir: 11,
  readdir: 12,
  remove: 13,
  mkdir: 14,
  rmdir: 15,
  realpath: 16,
  stat: 17,
  rename: 18,
  readlink: 19,
  symlink: 20,
  status: 101,
  handle: 102,
  data: 103,
  name: 104,
  attrs: 105,
  extended: 200,
  extendedReply: 201,
  /** Between our own processes: see `ahead.ts`. */
  ahead: 240,
  closeSilently: 241,
} as const

export const statuses = { ok: 0, endOfFile: 1, noSuchFile: 2, denied: 3, failure: 4, badMessage: 5, unsupported: 8 }

/** What a client may send and ask for in one packet, as OpenSSH has it. */
export const longestPacket = 256 << 10
export const mostData = longestPacket - 1024

/** An extension of ours, for the service itself: answers the mark of an open file. */
export const markExtension = 'fmark@stackquay'

/** A client that breaks the protocol is not answered any more. */
export class BadPacketError extends Error {
  override readonly name = 'BadPacketError'
}

/** Reads the fields of one packet, one after the other. */
export class PacketReader {
  readonly #bytes: Buffer
  #at: number

  constructor(bytes: Buffer, at = 0) {
    this.#bytes = bytes
    this.#at = at
  }

  byte(): number {
    return this.#bytes[this.#take(1)]!
  }

  uint32(): number {
    return this.#bytes.readUInt32BE(this.#take(4))
  }

  /** Offsets beyond what a number counts exactly are no file’s. */
  uint64(): number {
    const value = this.#bytes.readBigUInt64BE(this.#take(8))
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new BadPacketError('an offset that no file has')
    return Number(value)
  }

  /** Shares the packet’s memory. */
  bytes(): Buffer {
    const length = this.uint32()
    const from = this.#take(length)
    return this.#bytes.subarray(from, from + length)
  }

  text(): string {
    return this.bytes().toString('latin1')
  }

  #take(length: number): number {
    const from = this.#at
    if (from + length > this.#bytes.length) throw new BadPacketError('a packet that ends too early')
    this.#at = from + length
    return from
  }
}

/** Makes one packet. */
export class PacketWriter {
  readonly #parts: Buffer[] = []

  constructor(type: number, id: number) {
    const head = Buffer.alloc(9)
    head[4] = type
    head.writeUInt32BE(id, 5)
    this.#parts.push(head)
  }

  uint32(value: number): this {
    const bytes = Buffer.allocUnsafe(4)
    bytes.writeUInt32BE(value >>> 0)
    return this.bytes(bytes)
  }

  uint64(value: number | bigint): this {
    const bytes = Buffer.allocUnsafe(8)
    bytes.writeBigUInt64BE(BigInt.asUintN(64, BigInt(value)))
    return this.bytes(bytes)
  }

  text(value: string): this {
    return this.string(Buffer.from(value, 'latin1'))
  }

  string(value: Buffer): this {
    return this.uint32(value.length).bytes(value)
  }

  bytes(value: Buffer): this {
    this.#parts.push(value)
    return this
  }

  end(): Buffer {
    const packet = Buffer.concat(this.#parts)
    packet.writeUInt32BE(packet.length - 4)
    return packet
  }
}

/** Cuts what arrives into packets, without the length in front of each. A packet is the callback’s until it returns. */
export function createPacketCutter(take: (packet: Buffer) => void): (chunk: Buffer) => void {
  let length = Buffer.alloc(0)
  let packet: Buffer | null = null
  let filled = 0
  return (chunk) => {
    let at = 0
    while (at < chunk.length) {
      if (packet === null) {
        const head =
          length.length === 0
            ? chunk.subarray(at, at + 4)
            : Buffer.concat([length, chunk.subarray(at, at + 4 - length.length)])
        at += head.length - length.length
        if (head.length < 4) {
          length = Buffer.from(head)
          return
        }
        length = Buffer.alloc(0)
        const size = head.readUInt32BE()
        if (size < 1 || size > longestPacket) throw new BadPacketError(`a packet of ${size} bytes`)
        if (chunk.length - at >= size) {
          take(chunk.subarray(at, at + size))
          at += size
        } else {
          packet = Buffer.allocUnsafe(size)
          filled = 0
        }
      } else {
        const copied = chunk.copy(packet, filled, at)
        filled += copied
        at += copied
        if (filled < packet.length) return
        const whole = packet
        packet = null
        take(whole)
      }
    }
  }
}
