import { connect } from 'node:net'
import { providerFailed } from '../provider.ts'

const idleMs = 10_000

/** One message over TCP and its answer: no truncation, and nobody who only guesses can answer. */
export function exchange(
  who: string,
  host: string,
  port: number,
  message: Buffer,
  signal: AbortSignal,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, signal })
    let received = Buffer.alloc(0)
    const fail = (error: Error) => {
      socket.destroy()
      reject(signal.aborted ? signal.reason : providerFailed(who, error.message, error))
    }
    socket.setTimeout(idleMs, () => fail(new Error(`no answer within ${idleMs / 1000} s`)))
    socket.once('error', fail)
    socket.once('end', () => fail(new Error('it closed the connection without an answer')))
    socket.once('connect', () => {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(message.length)
      socket.write(Buffer.concat([length, message]))
    })
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return
      socket.destroy()
      resolve(received.subarray(2, 2 + received.readUInt16BE(0)))
    })
  })
}
