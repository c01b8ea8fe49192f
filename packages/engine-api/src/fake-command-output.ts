import type { CommandOutput } from './commands.ts'

/** What a command printed and what of it is still kept. */
export interface FakeCommandOutput {
  readonly chunks: readonly CommandOutput[]
  /** Positions of the first byte that is kept, and behind the last. */
  readonly range: { readonly first: number; readonly end: number }
  /** Whether a chunk ended there, or the output begins there. */
  isBoundary(position: number): boolean
  add(stream: CommandOutput['stream'], time: number, bytes: Buffer): void
}

/** Keeps at most so many bytes, but always the newest chunk. */
export function createFakeCommandOutput(keepBytes: number): FakeCommandOutput {
  const chunks: CommandOutput[] = []
  const boundaries = new Set([0])
  let end = 0
  return {
    chunks,
    get range() {
      return { first: chunks[0]?.from ?? 0, end }
    },
    isBoundary: (position) => boundaries.has(position),
    add(stream, time, bytes) {
      const from = end
      end += bytes.length
      chunks.push({ stream, time, bytes, from, to: end })
      boundaries.add(end)
      while (chunks.length > 1 && end - (chunks[0]?.from ?? 0) > keepBytes) chunks.shift()
    },
  }
}
