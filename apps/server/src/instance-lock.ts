import { chmodSync, rmSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'

/** Another service works on the same home. */
export class HomeInUseError extends Error {
  override readonly name = 'HomeInUseError'
}

/**
 * Holds a home for this process as long as it lives: a socket that a dead holder leaves behind answers nobody and is
 * taken over. Answers the function that lets go.
 */
export async function lockHome(socket: string, home: string): Promise<() => Promise<void>> {
  const server = createServer((peer) => peer.end())
  try {
    await listen(server, socket)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    if (await answers(socket))
      throw new HomeInUseError(`Another Stackquay runs on ${home}. Stop it, or set STACKQUAY_HOME to another folder.`)
    rmSync(socket, { force: true })
    await listen(server, socket)
  }
  chmodSync(socket, 0o600)
  server.unref()
  return () => new Promise((done) => server.close(() => done()))
}

function listen(server: Server, path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen(path, () => {
    server.off('error', reject)
    resolve()
  })
  return promise
}

function answers(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const peer = connect(path)
  peer.once('connect', () => resolve(true)).once('error', () => resolve(false))
  return promise.finally(() => peer.destroy())
}
