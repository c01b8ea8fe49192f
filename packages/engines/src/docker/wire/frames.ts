/*
 * Output of a container without a terminal comes in frames: stream (1 byte: 1 stdout, 2 stderr), three zeros, length of the
 * content (4 bytes, big-endian), content. https://docs.docker.com/reference/api/engine/ (ContainerAttach, stream format)
 */

export const FRAME_HEADER = 8
export const STDERR = 2

export interface Chunk {
  readonly stream: 'stdout' | 'stderr'
  readonly bytes: Buffer
}

/** Takes frames apart as they come; a chunk is as much of a frame as has come. */
export function createFrameReader(): (bytes: Buffer) => Chunk[] {
  const header = Buffer.alloc(FRAME_HEADER)
  let known = 0
  let left = 0
  let stream: Chunk['stream'] = 'stdout'
  return (bytes) => {
    const chunks: Chunk[] = []
    for (let at = 0; at < bytes.length; ) {
      if (left > 0) {
        const taken = Math.min(left, bytes.length - at)
        chunks.push({ stream, bytes: bytes.subarray(at, at + taken) })
        left -= taken
        at += taken
        continue
      }
      const copied = bytes.copy(header, known, at, at + FRAME_HEADER - known)
      known += copied
      at += copied
      if (known < FRAME_HEADER) continue
      known = 0
      stream = header[0] === STDERR ? 'stderr' : 'stdout'
      left = header.readUInt32BE(4)
    }
    return chunks
  }
}
