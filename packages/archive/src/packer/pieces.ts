import { Socket } from 'node:net'

const ringBytes = 4 << 20
const mostPiece = 1 << 20

/**
 * What comes into a descriptor, in pieces that grow while the one before is used: bytes are read into memory that is used again and again.
 * A piece is good until the next one is asked for.
 */
export async function* piecesOf(fd: number): AsyncGenerator<Buffer> {
  const ring = Buffer.allocUnsafeSlow(ringBytes)
  let [read, used] = [0, 0]
  let failure: Error | null = null
  let isEnded = false
  let wake = () => {}
  const free = () => ringBytes - (read - used)
  const socket = new Socket({
    fd,
    readable: true,
    writable: false,
    onread: {
      // Never all that is free, so that there is always a next one.
      buffer: () => ring.subarray(read % ringBytes, Math.min(ringBytes, (read % ringBytes) + (free() >> 1))),
      callback: (bytes) => {
        read += bytes
        wake()
        return free() >= mostPiece
      },
    },
  })
  const end = (error: Error | null) => {
    failure ??= error
    isEnded = true
    wake()
  }
  socket
    .on('end', () => end(null))
    .on('error', end)
    .on('close', () => end(null))
  socket.resume()
  try {
    for (;;) {
      while (read === used && !isEnded)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      if (failure !== null) throw failure
      if (read === used) return
      const at = used % ringBytes
      const piece = ring.subarray(at, Math.min(ringBytes, at + Math.min(read - used, mostPiece)))
      yield piece
      used += piece.length
      if (!isEnded && free() >= mostPiece) socket.resume()
    }
  } finally {
    // What writes into it is ended by who started it, and does not fail before that.
    socket.pause()
  }
}
