import { chmodSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { holdFile } from '@stackquay/store'

/** Another service works on the same home. */
export class HomeInUseError extends Error {
  override readonly name = 'HomeInUseError'
}

/**
 * Holds a home for this process as long as it lives, by a lock of the operating system: of two that start at one moment one gets it. The socket
 * beside it is that of versions before, which knew of nothing else: as long as it answers, one of them runs here. What a dead one left
 * answers nobody and is taken over. `accept` gets who comes in through it: nobody can but this user. Answers the function that lets go.
 */
export async function lockHome(
  home: string,
  accept: (peer: Socket) => void = (peer) => peer.end(),
): Promise<() => Promise<void>> {
  const held = holdFile(join(home, 'server.lock'))
  if (held === null) throw inUse(home)
  try {
    const peers = new Set<Socket>()
    const server = await takeSocket(join(home, 'server.sock'), home, (peer) => {
      peers.add(peer)
      peer.once('close', () => peers.delete(peer))
      accept(peer)
    })
    return async () => {
      for (const peer of peers) peer.destroySoon()
      await new Promise<void>((done) => server.close(() => done()))
      held.release()
    }
  } catch (error) {
    held.release()
    throw error
  }
}

async function takeSocket(socket: string, home: string, accept: (peer: Socket) => void): Promise<Server> {
  const server = createServer((peer) => accept(peer.unref()))
  try {
    await listen(server, socket)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    if (await answers(socket)) throw inUse(home)
    rmSync(socket, { force: true })
    await listen(server, socket)
  }
  chmodSync(socket, 0o600)
  server.unref()
  return server
}

function inUse(home: string): HomeInUseError {
  return new HomeInUseError(`Another Stackquay runs on ${home}. Stop it, or set STACKQUAY_HOME to another folder.`)
}

function listen(server: Server, path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  // Nobody else's from its first moment on, whatever this process lets others do with its files.
  const before = process.umask(0o177)
  try {
    server.listen(path, () => {
      server.off('error', reject)
      resolve()
    })
  } finally {
    process.umask(before)
  }
  return promise
}

function answers(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const peer = connect(path)
  peer.once('connect', () => resolve(true)).once('error', () => resolve(false))
  return promise.finally(() => peer.destroy())
}
