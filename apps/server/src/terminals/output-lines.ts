import { isUtf8 } from 'node:buffer'

/** What a program prints as lines of JSON. Text stays text, whole characters at a time; any other bytes are base64. */
export interface OutputLines {
  line(stream: 'stdout' | 'stderr', bytes: Buffer): string
  /** What was held back because its character was not whole. */
  rest(): string
}

export function createOutputLines(): OutputLines {
  const held = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) }
  return {
    line: (stream, bytes) => {
      const all = held[stream].length === 0 ? bytes : Buffer.concat([held[stream], bytes])
      const cut = all.length - unfinished(all)
      held[stream] = Buffer.from(all.subarray(cut))
      return lineOf(stream, all.subarray(0, cut))
    },
    rest: () => lineOf('stdout', held.stdout) + lineOf('stderr', held.stderr),
  }
}

function lineOf(stream: 'stdout' | 'stderr', bytes: Buffer): string {
  if (bytes.length === 0) return ''
  const fields = isUtf8(bytes)
    ? { [stream]: bytes.toString() }
    : { [stream]: bytes.toString('base64'), encoding: 'base64' }
  return `${JSON.stringify(fields)}\n`
}

/** How many bytes at the end begin a character of UTF-8 whose other bytes are still to come: 0 to 3. */
export function unfinished(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back]!
    if (byte < 0x80) return 0
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
      return length > back ? back : 0
    }
  }
  return 0
}
