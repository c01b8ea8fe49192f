import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { errorCode } from './errors.ts'

/*
 * The kernel's list of sockets costs milliseconds on a busy machine, so it is read only to learn who holds a port.
 * Whether one is free or answers is asked by trying.
 */

const LOOPBACK = ['127.0.0.1', '::1'] as const

/** A loopback address at which something holds the port; null when both refuse. */
export async function answeringHost(port: number): Promise<string | null> {
  for (const host of LOOPBACK) if (await accepts(host, port)) return host
  return null
}

const CONNECT_MS = 1000

function accepts(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port })
    const done = (accepted: boolean) => {
      socket.destroy()
      resolve(accepted)
    }
    // Silence is no refusal: a wall keeps who listens on another project's port from being heard. The kernel's list says who it is.
    socket.setTimeout(CONNECT_MS, () => done(true))
    socket.once('connect', () => done(true))
    socket.once('error', () => done(false))
  })
}

/** Whether a program could listen there now; on ::1 too, because `localhost` often means that. */
export async function isFree(port: number, bind: string): Promise<boolean> {
  for (const host of [bind, '::1']) if (!(await canListen(host, port))) return false
  return true
}

async function canListen(host: string, port: number): Promise<boolean> {
  const server = createServer()
  try {
    server.listen({ port, host, exclusive: true })
    await once(server, 'listening')
    return true
  } catch (error) {
    return errorCode(error) !== 'EADDRINUSE'
  } finally {
    if (server.listening) {
      server.close()
      await once(server, 'close')
    }
  }
}
