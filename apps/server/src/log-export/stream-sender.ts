import { connect, isIP, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import { countedFrame, syslogMessage } from '@stackquay/domain/syslog'
import { checkedLookup } from '../webhooks/post.ts'
import { addressBlocker } from '../webhooks/receivers.ts'
import { failed, type Sender, type SenderOptions } from './sender.ts'

interface StreamTarget {
  readonly transport: 'tcp' | 'tls'
  readonly host: string
  readonly port: number
}

const timeoutMs = 20_000

/**
 * Syslog over a connection that is kept. The protocol has no acknowledgement: a batch counts as sent when the system has taken all of it.
 * What was on its way when a connection broke may be lost.
 */
export function createStreamSender(target: StreamTarget, { hostName }: SenderOptions): Sender {
  let open: Socket | null = null
  const drop = () => {
    open?.destroy()
    open = null
  }
  return {
    async send(lines, signal) {
      const until = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
      try {
        const bytes = Buffer.from(lines.map((line) => countedFrame(syslogMessage(line, hostName))).join(''))
        if (open?.destroyed === true) drop()
        open ??= await connected(target, until)
        await written(open, bytes, until)
        return { kind: 'taken', rejected: 0, reason: '' }
      } catch (error) {
        drop()
        const isLate = until.aborted && !signal.aborted
        return failed(isLate ? `The receiver took nothing for ${timeoutMs / 1000} seconds.` : error)
      }
    },
    close: drop,
  }
}

async function connected({ transport, host, port }: StreamTarget, signal: AbortSignal): Promise<Socket> {
  const blocker = addressBlocker(host)
  if (blocker !== null) throw new Error(blocker)
  const place = { host, port, lookup: checkedLookup(addressBlocker) }
  const socket =
    transport === 'tcp' ? connect(place) : connectSecurely({ ...place, ...(isIP(host) === 0 && { servername: host }) })
  // Between two batches an error only means that it is closed.
  socket.on('error', () => undefined)
  // Nothing that it says is of interest but its end, which is seen at once and not when the next line is lost.
  socket.once('end', () => socket.destroy())
  socket.resume()
  await happened(socket, transport === 'tcp' ? 'connect' : 'secureConnect', signal)
  return socket
}

function written(socket: Socket, bytes: Buffer, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const done = happened(socket, null, signal, promise)
  socket.write(bytes, (error) => {
    if (error === null || error === undefined) resolve()
  })
  return done
}

/** Until an event, or `other`; throws when the connection ends before. */
function happened(
  socket: Socket,
  event: string | null,
  signal: AbortSignal,
  other: Promise<void> | null = null,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const closed = () => reject(new Error('The receiver closed the connection.'))
  const aborted = () => reject(signal.reason)
  const done = () => resolve()
  socket.on('error', reject).on('close', closed)
  if (event !== null) socket.once(event, done)
  void other?.then(done)
  if (socket.destroyed) closed()
  else if (signal.aborted) aborted()
  else signal.addEventListener('abort', aborted, { once: true })
  return promise
    .finally(() => {
      signal.removeEventListener('abort', aborted)
      socket.off('error', reject).off('close', closed)
      if (event !== null) socket.off(event, done)
    })
    .catch((error: unknown) => {
      socket.destroy()
      throw error
    })
}
