import type { ClientHttp2Session } from 'node:http2'
import type { UpstreamTarget } from '../route-table.ts'
import type { UpstreamLimits } from '../upstream/limits.ts'
import type { UpstreamPool } from '../upstream/pool.ts'

const http2 = process.getBuiltinModule('node:http2')

interface Known {
  readonly ready: Promise<ClientHttp2Session>
  streams: number
}

/** Connections by HTTP/2 without TLS ("prior knowledge") to projects that need some; they go with the pool of their address. */
const sessions = new WeakMap<UpstreamPool, Set<Known>>()

/** Of one connection. What clients do not read lies in its memory, so those of others get another one. */
const mostCalls = 48

export interface Lease {
  readonly session: ClientHttp2Session
  /** The request is over. */
  release(): void
}

/** Rejects when nothing listens there, or what listens does not accept in time. */
export async function leaseSession(pool: UpstreamPool, target: UpstreamTarget, limits: UpstreamLimits): Promise<Lease> {
  const all = sessions.get(pool) ?? new Set<Known>()
  sessions.set(pool, all)
  let known = [...all].find(({ streams }) => streams < mostCalls)
  if (known === undefined) {
    const made: Known = { ready: open(target, limits, () => all.delete(made)), streams: 0 }
    made.ready.catch(() => all.delete(made))
    all.add(made)
    known = made
  }
  const one = known
  one.streams += 1
  let isOpen = true
  const release = () => {
    if (!isOpen) return
    isOpen = false
    one.streams -= 1
    // Whoever comes next within a moment finds it open.
    if (one.streams === 0) one.ready.then((session) => session.setTimeout(limits.upstreamIdle), nothing)
  }
  try {
    const session = await one.ready
    session.setTimeout(0)
    return { session, release }
  } catch (error) {
    release()
    throw error
  }
}

const nothing = () => {}

function open({ host, port }: UpstreamTarget, limits: UpstreamLimits, onEnd: () => void): Promise<ClientHttp2Session> {
  const name = host.includes(':') ? `[${host}]` : host
  // Its types do not know the last one yet.
  const options = {
    settings: { enablePush: false, initialWindowSize: 256 * 1024 },
    maxSessionMemory: 16,
    strictSingleValueFields: false,
  }
  const session = http2.connect(`http://${name}:${port}`, options)
  const { promise, resolve, reject } = Promise.withResolvers<ClientHttp2Session>()
  const late = setTimeout(() => session.destroy(new Error('No connection in time.')), limits.connectWithin)
  session.once('connect', () => {
    clearTimeout(late)
    session.setLocalWindowSize(1024 * 1024)
    resolve(session)
  })
  session.once('goaway', onEnd)
  session.once('timeout', () => {
    onEnd()
    session.close()
  })
  session.on('error', (error) => reject(error))
  session.once('close', () => {
    clearTimeout(late)
    onEnd()
    reject(new Error('The connection was closed.'))
  })
  return promise
}
