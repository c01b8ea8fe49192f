import { Duplex, Writable } from 'node:stream'

/*
 * What passes between the service and the process that speaks SSH: frames on one stream, in order. A frame is its kind, the number of a
 * channel and the length of what follows. Of each channel no more than a window is under way, so a slow reader holds its own writer and
 * nobody else’s.
 */

export const frames = { message: 0, data: 1, errors: 2, taken: 3, end: 4 } as const
type FrameKind = (typeof frames)[keyof typeof frames]

const headBytes = 9
/** A message holds a log-in, a command with its variables, or a reason. */
const longestMessage = 512 << 10
const longestData = 64 << 10
const windowBytes = 256 << 10

/** The other side breaks the rules: it is not listened to any more. */
export class BadFrameError extends Error {
  override readonly name = 'BadFrameError'
}

export interface Link {
  send(message: object): void
  /** Opens the near end of a channel. Throws for a number that is in use. */
  open(id: number, uses?: ChannelUses): LinkChannel
  forget(id: number): void
}

export interface ChannelUses {
  /** What the program on the other side says beside its output. */
  onErrors?(bytes: Buffer, taken: () => void): void
  /** All was written, and the other side is about to be told that nothing follows. */
  beforeEnd?(): void
}

export interface LinkOptions {
  onMessage(message: unknown): void
  /** It broke the rules, or the stream ended. Called once. */
  onEnd(error: Error | null): void
}

export function createLink(stream: Duplex, { onMessage, onEnd }: LinkOptions): Link {
  const channels = new Map<number, LinkChannel>()
  let ended = false
  const end = (error: Error | null) => {
    if (ended) return
    ended = true
    stream.destroy()
    onEnd(error)
  }
  const write = (kind: FrameKind, channel: number, bytes: Uint8Array) => {
    if (ended || stream.destroyed) return
    const head = Buffer.allocUnsafe(headBytes)
    head[0] = kind
    head.writeUInt32BE(channel, 1)
    head.writeUInt32BE(bytes.length, 5)
    stream.cork()
    stream.write(head)
    if (bytes.length > 0) stream.write(bytes)
    process.nextTick(() => stream.uncork())
  }
  const take = (kind: number, channel: number, bytes: Buffer) => {
    if (kind === frames.message) return onMessage(JSON.parse(bytes.toString('utf8')))
    // One that was closed here meanwhile takes nothing any more.
    channels.get(channel)?.receive(kind, bytes)
  }
  const cut = frameCutter(take)
  stream.on('data', (chunk: Buffer) => {
    try {
      if (!ended) cut(chunk)
    } catch (error) {
      end(error as Error)
    }
  })
  stream.on('error', (error) => end(error))
  stream.on('close', () => end(null))
  stream.on('end', () => end(null))
  return {
    send: (message) => write(frames.message, 0, Buffer.from(JSON.stringify(message))),
    open: (id, uses = {}) => {
      if (channels.has(id)) throw new BadFrameError(`the channel ${id} is open`)
      const channel = new LinkChannel((kind, bytes) => write(kind, id, bytes), uses)
      channels.set(id, channel)
      return channel
    },
    forget: (id) => void channels.delete(id),
  }
}

/** One direction and the other of what a program and its client say. */
export class LinkChannel extends Duplex {
  /** What people see as the errors of a program. */
  readonly stderr: Writable
  readonly #write: (kind: FrameKind, bytes: Uint8Array) => void
  readonly #uses: ChannelUses
  /** How much may be sent before the other side takes some. */
  #room = windowBytes
  /** How much came that was not read, and how much of it the other side does not know of. */
  #unread = 0
  #owed = 0
  readonly #waiting: (() => void)[] = []

  constructor(write: (kind: FrameKind, bytes: Uint8Array) => void, uses: ChannelUses) {
    // It is closed when the client closed it, and not when both sides have said all.
    // What is held unread is counted against the window beyond this little.
    super({ writableHighWaterMark: windowBytes, readableHighWaterMark: longestData, autoDestroy: false })
    this.#write = write
    this.#uses = uses
    this.stderr = new Writable({
      highWaterMark: windowBytes,
      write: (bytes: Buffer, _encoding, done) => this.#send(frames.errors, bytes, done),
    })
    this.stderr.on('error', () => {})
  }

  /** A frame of this channel. Throws `BadFrameError`. */
  receive(kind: number, bytes: Buffer): void {
    if (this.destroyed) return
    switch (kind) {
      case frames.taken:
        this.#room = Math.min(windowBytes, this.#room + (bytes.length === 4 ? bytes.readUInt32BE() : 0))
        for (const go of this.#waiting.splice(0)) go()
        return
      case frames.end:
        this.push(null)
        return
      case frames.data:
      case frames.errors:
        this.#unread += bytes.length
        if (this.#unread > windowBytes) throw new BadFrameError('more than there is room for')
        if (kind === frames.errors) {
          if (this.#uses.onErrors === undefined) throw new BadFrameError('errors of a client')
          this.#uses.onErrors(bytes, () => this.#took(bytes.length))
          return
        }
        if (this.readableEnded) throw new BadFrameError('data after the end')
        if (this.push(bytes)) this.#took(bytes.length)
        else this.#owed += bytes.length
        return
      default:
        throw new BadFrameError(`a frame of kind ${kind}`)
    }
  }

  override _read(): void {
    const bytes = this.#owed
    this.#owed = 0
    this.#took(bytes)
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#send(frames.data, chunk, done)
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#uses.beforeEnd?.()
    this.#write(frames.end, new Uint8Array())
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    // Whoever waits to write waits for nothing.
    for (const go of this.#waiting.splice(0)) go()
    this.stderr.destroy()
    done(error)
  }

  #took(bytes: number): void {
    if (bytes === 0 || this.destroyed) return
    this.#unread -= bytes
    const count = Buffer.allocUnsafe(4)
    count.writeUInt32BE(bytes)
    this.#write(frames.taken, count)
  }

  #send(kind: FrameKind, chunk: Buffer, done: (error?: Error | null) => void, from = 0): void {
    let at = from
    while (at < chunk.length && this.#room > 0 && !this.destroyed) {
      const length = Math.min(chunk.length - at, this.#room, longestData)
      this.#room -= length
      this.#write(kind, chunk.subarray(at, at + length))
      at += length
    }
    if (at >= chunk.length || this.destroyed) done()
    else this.#waiting.push(() => this.#send(kind, chunk, done, at))
  }
}

/** Cuts what arrives into frames. */
function frameCutter(take: (kind: number, channel: number, bytes: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer[] = []
  let held = 0
  let wanted = headBytes
  return (chunk) => {
    rest.push(chunk)
    held += chunk.length
    if (held < wanted) return
    let all = rest.length === 1 ? chunk : Buffer.concat(rest)
    for (;;) {
      wanted = headBytes
      if (all.length < headBytes) break
      const kind = all[0]!
      const length = all.readUInt32BE(5)
      if (length > (kind === frames.message ? longestMessage : longestData))
        throw new BadFrameError(`a frame of ${length} bytes`)
      wanted = headBytes + length
      if (all.length < wanted) break
      take(kind, all.readUInt32BE(1), all.subarray(headBytes, wanted))
      all = all.subarray(wanted)
    }
    rest = all.length === 0 ? [] : [all]
    held = all.length
  }
}
