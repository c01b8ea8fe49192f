/** What there is in a folder, by kinds; the same is counted in an archive while it is made and in what is unpacked of it. */
export interface TreeCounts {
  readonly files: number
  readonly folders: number
  readonly links: number
}

/** Counts the entries of a tar archive that passes by. Its top folder is no entry of it. */
export function treeCounts() {
  const counts = { files: 0, folders: 0, links: 0 }
  let skip = 0
  let rest = Buffer.alloc(0)
  let isExtended = false
  const header = (block: Buffer) => {
    if (isExtended) {
      // Further blocks of the map of a sparse file.
      isExtended = block[504] === 1
      if (!isExtended) skip = pendingSkip
      return
    }
    if (block[0] === 0) return
    const type = String.fromCharCode(block[156]!)
    skip = Math.ceil(sizeOf(block) / 512) * 512
    if (type === 'S' && block[482] === 1) {
      isExtended = true
      pendingSkip = skip
      skip = 0
    }
    const name = block.toString('latin1', 0, 3)
    if (type === '5' && (name.startsWith('./\0') || name.startsWith('.\0'))) return
    if (type === '5') counts.folders += 1
    else if (type === '2') counts.links += 1
    else if ('01S7\0'.includes(type)) counts.files += 1
  }
  let pendingSkip = 0
  const look = (chunk: Uint8Array) => {
    let bytes =
      rest.length === 0 ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength) : Buffer.concat([rest, chunk])
    for (;;) {
      const passed = Math.min(skip, bytes.length)
      skip -= passed
      bytes = bytes.subarray(passed)
      if (skip > 0 || bytes.length < 512) break
      header(bytes.subarray(0, 512))
      bytes = bytes.subarray(512)
    }
    rest = Buffer.from(bytes)
  }
  return {
    async *of(archive: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const chunk of archive) {
        look(chunk)
        yield chunk
      }
    },
    found: (): TreeCounts & Record<string, number> => ({ ...counts }),
  }
}

/** Octal, or for large files in base 256. */
function sizeOf(block: Buffer): number {
  if ((block[124]! & 0x80) === 0)
    return Number.parseInt(block.toString('latin1', 124, 136).replaceAll('\0', ' ').trim() || '0', 8)
  return Number(block.readBigUInt64BE(128))
}
