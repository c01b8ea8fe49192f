import { createSocket, type Socket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { syslogMessage } from '@stackquay/domain/syslog'
import { addressBlocker } from '../webhooks/receivers.ts'
import { failed, type Sender, type SenderOptions } from './sender.ts'

/** Text of one line: with its header it is in what receivers take by default, which is 8 KiB. */
const mostTextBytes = 7 * 1024
/** So that a receiver that is asked for its port each time is not overrun by one burst. */
const atOnce = 64
const pauseMs = 5

/** Syslog in datagrams, RFC 5426. Nobody tells whether one arrived; that nobody listens is known for this machine and some networks. */
export function createDatagramSender(
  { host, port }: { readonly host: string; readonly port: number },
  { hostName }: SenderOptions,
): Sender {
  let open: Socket | null = null
  let broken: Error | null = null
  const drop = () => {
    open?.close()
    open = null
    broken = null
  }
  const connected = async (): Promise<Socket> => {
    const addresses = await lookup(host, { all: true })
    const blocker = [host, ...addresses.map(({ address }) => address)].map(addressBlocker).find((one) => one !== null)
    if (typeof blocker === 'string') throw new Error(blocker)
    const { address, family } = addresses[0]!
    const socket = createSocket(family === 6 ? 'udp6' : 'udp4')
    socket.on('error', (error) => {
      broken = error
    })
    socket.unref()
    socket.connect(port, address)
    await once(socket, 'connect')
    return socket
  }
  return {
    async send(lines, signal) {
      try {
        open ??= await connected()
        for (const [at, line] of lines.entries()) {
          if (broken !== null) throw broken
          signal.throwIfAborted()
          await sentBy(open, Buffer.from(syslogMessage(line, hostName, mostTextBytes)))
          if (at % atOnce === atOnce - 1) await new Promise((resolve) => setTimeout(resolve, pauseMs))
        }
        return { kind: 'taken', rejected: 0, reason: '' }
      } catch (error) {
        drop()
        return failed(error)
      }
    },
    close: drop,
  }
}

function sentBy(socket: Socket, bytes: Buffer): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.send(bytes, (error) => (error === null ? resolve() : reject(error)))
  return promise
}
