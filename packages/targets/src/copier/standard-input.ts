/** Standard input in stretches whose lengths are known. */
export interface StandardInput {
  /** Exactly so many bytes. The service closes it when it has no more, or when nobody waits for it. */
  read(bytes: number): AsyncGenerator<Buffer>
}

export function standardInput(): StandardInput {
  const chunks = process.stdin.iterator({ destroyOnReturn: false })
  let rest: Buffer = Buffer.alloc(0)
  return {
    async *read(bytes) {
      for (let left = bytes; left > 0; ) {
        if (rest.length === 0) {
          const next = await chunks.next()
          if (next.done === true) throw new Error('The archive ended too early.')
          rest = next.value
        }
        const chunk = rest.subarray(0, left)
        rest = rest.subarray(chunk.length)
        left -= chunk.length
        yield chunk
      }
    },
  }
}
