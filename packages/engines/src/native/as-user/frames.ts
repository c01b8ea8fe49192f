/*
 * What passes between the service and a process that acts as a project's user: frames of JSON and bytes. Both lengths stand in
 * front (two numbers of four bytes, the larger end first), so that a reader knows what comes before it keeps any of it.
 */

export interface Frame {
  readonly json: unknown
  readonly bytes: Buffer
}

export interface Request {
  readonly id: number
  /** Left out: the request with this id is no longer wanted. */
  readonly act?: string
  readonly args?: unknown
}

export type Reply =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: string; readonly message: string }

const headBytes = 8

export function encodeFrame(json: unknown, bytes: Buffer): Buffer {
  const text = Buffer.from(JSON.stringify(json))
  const head = Buffer.alloc(headBytes)
  head.writeUInt32BE(text.length, 0)
  head.writeUInt32BE(bytes.length, 4)
  return Buffer.concat([head, text, bytes])
}

export interface FrameLimits {
  readonly json: number
  readonly bytes: number
}

/** The most JSON of an answer; what is longer goes as bytes. */
export const mostJson = 1 << 20

/** Takes what arrives and calls back for each whole frame. Throws as soon as a frame says that it is larger than allowed. */
export function createFrameReader(limits: () => FrameLimits, onFrame: (frame: Frame) => void): (chunk: Buffer) => void {
  let parts: Buffer[] = []
  let held = 0
  let wanted = headBytes
  return (chunk) => {
    parts.push(chunk)
    held += chunk.length
    while (held >= wanted) {
      const all = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
      parts = [all]
      const json = all.readUInt32BE(0)
      const bytes = all.readUInt32BE(4)
      const most = limits()
      if (json > most.json || bytes > most.bytes) throw new RangeError('The frame is larger than allowed.')
      wanted = headBytes + json + bytes
      if (held < wanted) return
      onFrame({
        json: JSON.parse(all.toString('utf8', headBytes, headBytes + json)),
        bytes: all.subarray(headBytes + json, wanted),
      })
      parts = held === wanted ? [] : [all.subarray(wanted)]
      held -= wanted
      wanted = headBytes
    }
  }
}
