import type { Socket } from 'node:net'
import { asString, copyOf } from './copies.ts'
import type { TunnelEnd } from './upstream/handshake.ts'

export interface Tunnel {
  /** Bytes that went to the client. */
  readonly bytes: number
}

/**
 * Bytes both ways until both sides have ended; the end of one side reaches the other, an error ends both. Each side as fast
 * as the slower one.
 */
export function openTunnel(
  client: Socket,
  upstream: TunnelEnd,
  { onBytes, onClose }: { onBytes(): void; onClose(tunnel: Tunnel): void },
): void {
  const before = client.bytesWritten
  const project = upstream.socket
  let open = 2
  const closed = () => {
    open -= 1
    if (open === 0) onClose({ bytes: client.bytesWritten - before })
  }
  tie(client, project, closed)
  tie(project, client, closed)
  client.on('data', (bytes) => {
    onBytes()
    if (!project.write(bytes)) client.pause()
  })
  upstream.listen((bytes) => {
    onBytes()
    if (!writeCopy(client, bytes)) project.pause()
  })
  client.resume()
  project.resume()
}

/** What one side's end, error and room mean for the other. */
function tie(from: Socket, to: Socket, onClose: () => void): void {
  from.setTimeout(0)
  from.setNoDelay(true)
  // A peer that vanished without a word is found out, so that a silent tunnel may stay for days.
  from.setKeepAlive(true, 60_000)
  to.on('drain', () => from.resume())
  from.on('end', () => to.end())
  from.on('error', () => to.destroy())
  from.once('close', () => {
    if (!from.readableEnded) to.destroy()
    onClose()
  })
}

/** Of bytes that the next read overwrites. A short string costs less than memory of its own. */
function writeCopy(to: Socket, bytes: Buffer): boolean {
  if (bytes.length <= asString) return to.write(bytes.toString('latin1'), 'latin1')
  const copy = copyOf(bytes, 0, bytes.length)
  return to.write(copy.bytes, copy.done)
}
