import type { Socket } from 'node:net'

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
  upstream: Socket,
  { onBytes, onClose }: { onBytes(): void; onClose(tunnel: Tunnel): void },
): void {
  const before = client.bytesWritten
  let open = 2
  const closed = () => {
    open -= 1
    if (open === 0) onClose({ bytes: client.bytesWritten - before })
  }
  carry(client, upstream, onBytes, closed)
  carry(upstream, client, onBytes, closed)
}

function carry(from: Socket, to: Socket, onBytes: () => void, onClose: () => void): void {
  from.setTimeout(0)
  from.setNoDelay(true)
  // A peer that vanished without a word is found out, so that a silent tunnel may stay for days.
  from.setKeepAlive(true, 60_000)
  from.on('data', (bytes) => {
    onBytes()
    if (!to.write(bytes)) from.pause()
  })
  to.on('drain', () => from.resume())
  from.on('end', () => to.end())
  from.on('error', () => to.destroy())
  from.once('close', () => {
    if (!from.readableEnded) to.destroy()
    onClose()
  })
  from.resume()
}
