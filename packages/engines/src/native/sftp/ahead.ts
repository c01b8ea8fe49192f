import { longestPacket, PacketReader, PacketWriter, packets, statuses } from './wire.ts'

/*
 * Small files, read with fewer steps. With the answer to an open file the process of the session tells what is in it, to whoever stands
 * between it and the client; the questions that a client asks next are answered there, and the process is neither waited for nor woken.
 * What was told counts for a moment, as long as nothing else was asked: so a session sees all that it did itself.
 */

/** A file up to this size is told whole. */
export const mostAhead = 32 << 10
const validMs = 100

export interface AheadUses {
  /** To the client. */
  answer(packet: Buffer): void
  /** Whether the client takes what it is sent: nothing piles up for it. */
  takes(): boolean
  /** In milliseconds, of any beginning. */
  now(): number
}

/** Between a client and its process. What is answered is to be passed on; packets are seldom copied. */
export interface Ahead {
  fromClient(chunk: Buffer): readonly Buffer[]
  fromProcess(chunk: Buffer): readonly Buffer[]
  /** For the process: the end of a file that the client has closed, when nothing else was asked meanwhile. */
  closed(): Buffer | null
}

interface Told {
  readonly handle: Buffer
  readonly attributes: Buffer
  readonly data: Buffer
  readonly until: number
  /** Read up to here: each byte is answered once. */
  at: number
}

export function createAhead(uses: AheadUses): Ahead {
  let told: Told | null = null
  let closing: Buffer | null = null
  /** Asked of the process and not answered. */
  let waiting = 0
  const closed = () => {
    const packet = closing
    closing = null
    return packet
  }
  const answered = (packet: Buffer): boolean => {
    const answer = told === null || uses.now() > told.until || !uses.takes() ? null : answerOf(told, packet)
    if (answer === null) return false
    if (packet[0] === packets.close) {
      closing = new PacketWriter(packets.closeSilently, 0).string(told!.handle).end()
      told = null
    }
    uses.answer(answer)
    return true
  }
  const skimClient = createSkim({
    wants: (type, size) => told !== null && size <= longestQuestion && questions.has(type),
    take: answered,
    passes: () => {
      told = null
      waiting += 1
    },
  })
  return {
    closed,
    fromClient: (chunk) => {
      const passed = skimClient(chunk)
      const first = passed.length === 0 ? null : closed()
      return first === null ? passed : [Buffer.concat([first, ...passed])]
    },
    fromProcess: createSkim({
      wants: (type) => type === packets.ahead,
      take: (packet) => {
        if (waiting === 0) told = readTold(packet, uses.now() + validMs)
        return true
      },
      passes: () => {
        waiting -= 1
      },
    }),
  }
}

const questions: ReadonlySet<number> = new Set([packets.read, packets.fstat, packets.close])
const longestQuestion = 64

/** Null: the process has to be asked. */
function answerOf(told: Told, bytes: Buffer): Buffer | null {
  const packet = new PacketReader(bytes)
  try {
    const [type, id, handle] = [packet.byte(), packet.uint32(), packet.bytes()]
    if (!handle.equals(told.handle)) return null
    if (type === packets.fstat) return new PacketWriter(packets.attrs, id).bytes(told.attributes).end()
    if (type === packets.close) return statusAnswer(id, statuses.ok, 'Success')
    const [offset, length] = [packet.uint64(), packet.uint32()]
    if (offset !== told.at || length === 0) return null
    if (offset === told.data.length) return statusAnswer(id, statuses.endOfFile, 'End of file')
    const data = told.data.subarray(offset, offset + length)
    told.at += data.length
    return new PacketWriter(packets.data, id).string(data).end()
  } catch {
    return null
  }
}

export function statusAnswer(id: number, code: number, message: string): Buffer {
  return new PacketWriter(packets.status, id).uint32(code).text(message).text('').end()
}

/** What the process tells of a file that it opened. */
export function tellAhead(handle: Buffer, attributes: Buffer, data: Buffer): Buffer {
  return new PacketWriter(packets.ahead, 0).string(handle).string(attributes).string(data).end()
}

function readTold(bytes: Buffer, until: number): Told {
  const packet = new PacketReader(bytes, 5)
  const [handle, attributes, data] = [packet.bytes(), packet.bytes(), packet.bytes()].map((part) => Buffer.from(part))
  return { handle: handle!, attributes: attributes!, data: data!, until, at: 0 }
}

interface Skim {
  /** Whether the whole packet has to be seen. It is held back until then, so these are small. */
  wants(type: number, size: number): boolean
  /** Whether it goes no further. It is the callback’s until it returns. */
  take(packet: Buffer): boolean
  /** One goes further. */
  passes(): void
}

/** Looks at the beginning of each packet of a stream and passes the stream on. */
function createSkim({ wants, take, passes }: Skim): (chunk: Buffer) => readonly Buffer[] {
  let left = 0
  let held: Buffer | null = null
  return (chunk) => {
    const bytes: Buffer = held === null ? chunk : Buffer.concat([held, chunk])
    held = null
    const passed: Buffer[] = []
    let from = 0
    let at = 0
    const pass = () => {
      if (at > from) passed.push(bytes.subarray(from, at))
    }
    while (at < bytes.length) {
      if (left > 0) {
        const step = Math.min(left, bytes.length - at)
        at += step
        left -= step
        continue
      }
      if (bytes.length - at < 5) break
      const size = bytes.readUInt32BE(at)
      // It does not speak the protocol, and is told so by whoever it speaks with.
      const isPacket = size >= 1 && size <= longestPacket
      if (isPacket && wants(bytes[at + 4]!, size)) {
        if (bytes.length - at < 4 + size) break
        if (take(bytes.subarray(at + 4, at + 4 + size))) {
          pass()
          at += 4 + size
          from = at
          continue
        }
      }
      passes()
      left = isPacket ? 4 + size : Number.POSITIVE_INFINITY
    }
    pass()
    if (at < bytes.length) held = Buffer.from(bytes.subarray(at))
    return passed
  }
}
