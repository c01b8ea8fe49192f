import type { TestContext } from 'node:test'
import { apiPrefix } from '@stackquay/contract'
import { newId } from '@stackquay/store'
import { WebSocket } from 'ws'
import { hashOf, newTokenValue, shownPrefix } from '../src/access/token-value.ts'
import type { TestApp } from './projects-support.ts'

/** A peer of a stream with everything it was sent. */
export interface Peer {
  readonly socket: WebSocket
  // biome-ignore lint/suspicious/noExplicitAny: tests look into frames of every kind.
  readonly frames: any[]
  /** All binary frames after one another. */
  bytes(): Buffer
  readonly chunks: Buffer[]
  /** The close code, or the HTTP status when it was never opened. */
  readonly closed: Promise<number>
  send(message: object | Uint8Array): void
  /** The next frame of that type, also one that came already. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into frames of every kind.
  frame(type: string): Promise<any>
  /** Waits until this text was output. */
  shows(text: string): Promise<void>
  close(): void
}

/** Connects with a token of an administrator, and resolves when the socket is open or was refused. */
export async function connect(t: Pick<TestContext, 'after'>, app: TestApp, path: string): Promise<Peer> {
  if (!app.app.http.server.listening) await app.app.http.listen({ host: '127.0.0.1', port: 0 })
  const address = app.app.http.server.address()
  if (address === null || typeof address === 'string') throw new Error('The app does not listen.')
  const value = newTokenValue()
  const owner = (await app.store.users.byName('ada'))!.id
  await app.store.transaction((tx) =>
    tx.tokens.insert({
      id: newId('tok'),
      hash: hashOf(value),
      prefix: shownPrefix(value),
      name: newId('name'),
      owner,
      scope: 'operate',
      projects: [],
      expiresAt: null,
    }),
  )
  const socket = new WebSocket(`ws://127.0.0.1:${address.port}${apiPrefix}${path}`, {
    headers: { authorization: `Bearer ${value}` },
  })
  t.after(() => socket.terminate())
  // biome-ignore lint/suspicious/noExplicitAny: tests look into frames of every kind.
  const frames: any[] = []
  const chunks: Buffer[] = []
  const closed = Promise.withResolvers<number>()
  const listeners = new Set<() => void>()
  const stir = () => {
    for (const listener of [...listeners]) listener()
  }
  socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) chunks.push(data)
    else frames.push(JSON.parse(data.toString()))
    stir()
  })
  socket.on('unexpected-response', (_request, answer) => {
    closed.resolve(answer.statusCode ?? 0)
    answer.resume()
    stir()
  })
  socket.on('close', (code) => {
    closed.resolve(code)
    stir()
  })
  socket.on('error', () => undefined)
  const until = async <T>(what: string, look: () => T | undefined): Promise<T> => {
    const late = AbortSignal.timeout(30_000)
    for (;;) {
      const found = look()
      if (found !== undefined) return found
      if (late.aborted || socket.readyState === WebSocket.CLOSED) {
        throw new Error(`No ${what}: ${JSON.stringify(frames)} ${Buffer.concat(chunks).toString().slice(-500)}`)
      }
      const { promise, resolve } = Promise.withResolvers<void>()
      listeners.add(resolve)
      late.addEventListener('abort', () => resolve(), { once: true })
      await promise
      listeners.delete(resolve)
    }
  }
  const opened = Promise.withResolvers<void>()
  socket.on('open', opened.resolve)
  await Promise.race([opened.promise, closed.promise])
  let seen = 0
  return {
    socket,
    frames,
    chunks,
    bytes: () => Buffer.concat(chunks),
    closed: closed.promise,
    send: (message) => socket.send(message instanceof Uint8Array ? message : JSON.stringify(message)),
    frame: (type) =>
      until(`frame "${type}"`, () => {
        const at = frames.findIndex((frame, index) => index >= seen && frame.type === type)
        if (at === -1) return undefined
        seen = at + 1
        return frames[at]
      }),
    shows: (text) => until(`"${text}"`, () => (Buffer.concat(chunks).includes(text) ? true : undefined)).then(() => {}),
    close: () => socket.close(),
  }
}
