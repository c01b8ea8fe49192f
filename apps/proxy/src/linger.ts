import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** The answer is out and the client is still sending. Closing at once would make it lose the answer. */
export function linger(request: IncomingMessage, milliseconds: number): void {
  const { headers, socket } = request
  // Of a request without a body the server reports no end, so nothing would call off the deadline.
  if (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0) return
  const deadline = setTimeout(() => socket.destroy(), milliseconds)
  const settled = () => {
    clearTimeout(deadline)
    // The connection may carry many more.
    socket.off('close', settled)
  }
  // Once its answer is out, a request that is cut off says nothing any more; its connection does.
  request.once('end', settled).once('close', settled)
  socket.once('close', settled)
}

/** The last words on a connection that is no longer the HTTP server's: it ends also when the other side never does. */
export function endConnection(
  socket: Socket,
  { linger, readerIdle }: { readonly linger: number; readonly readerIdle: number },
  last: string,
): void {
  if (socket.destroyed || socket.writableEnded) return
  socket.setTimeout(readerIdle, () => socket.destroy())
  socket.end(last, () => {
    const deadline = setTimeout(() => socket.destroy(), linger).unref()
    socket.once('close', () => clearTimeout(deadline))
  })
  // The rest is thrown away; unread, it would hide that the other side has ended.
  socket.resume()
}
