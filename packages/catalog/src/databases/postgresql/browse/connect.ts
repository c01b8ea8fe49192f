import { Client } from 'pg'
import { ByteGuard } from '../../../browse/byte-guard.ts'
import { BrowseError } from '../../../browse/driver.ts'

/** One connection, whose values come as the server prints them. */
export interface Session {
  readonly client: Client
  readonly guard: ByteGuard
  ask(text: string, values: readonly unknown[]): Promise<readonly (string | null)[][]>
  /** What is asked meanwhile is cancelled on the server when the time is over or nobody waits any more. */
  within<Value>(signal: AbortSignal, limitMs: number, act: () => Promise<Value>): Promise<Value>
  isEnded(): boolean
  end(): Promise<void>
}

export interface Account {
  readonly username: string
  readonly password: string
}

export interface Place {
  readonly host: string
  readonly port: number
  readonly database: string
}

/** As the server prints them. */
export const asText = { getTypeParser: () => (text: string | Buffer) => String(text) }

export async function connect(place: Place, account: Account): Promise<Session> {
  const client = new Client({
    host: place.host,
    port: place.port,
    database: place.database,
    user: account.username,
    password: account.password,
    ssl: false,
    connectionTimeoutMillis: connectMs,
    application_name: 'stackquay-browser',
    options:
      '-c datestyle=ISO,YMD -c intervalstyle=postgres -c bytea_output=hex -c extra_float_digits=1 -c client_encoding=UTF8',
    keepAlive: true,
  })
  let hasEnded = false
  // A connection that breaks is told by what is asked over it.
  client.on('error', () => {
    hasEnded = true
  })
  client.on('end', () => {
    hasEnded = true
  })
  const guard = new ByteGuard()
  // Not in its types: the socket below the protocol.
  const socket = (client as unknown as { connection: { stream: import('node:net').Socket } }).connection.stream
  guard.watch(socket)
  try {
    await client.connect()
  } catch (error) {
    socket.destroy()
    throw asBrowseError(error, guard, 'unreachable')
  }
  guard.taken()
  const pid = (client as unknown as { processID: number }).processID
  const cancel = async () => {
    const other = await connect(place, account).catch(() => null)
    await other?.ask('SELECT pg_cancel_backend($1)', [pid]).catch(() => undefined)
    await other?.end()
  }
  return {
    client,
    guard,
    isEnded: () => hasEnded,
    ask: async (text, values) => {
      try {
        const { rows } = await client.query({ text, values: [...values], rowMode: 'array', types: asText })
        guard.taken()
        return rows as (string | null)[][]
      } catch (error) {
        throw asBrowseError(error, guard)
      }
    },
    within: (signal, limitMs, act) => within(signal, limitMs, act, cancel, socket, guard),
    end: async () => {
      if (hasEnded) return
      const late = setTimeout(() => socket.destroy(), 1000)
      await client.end().catch(() => undefined)
      clearTimeout(late)
    },
  }
}

const connectMs = 5_000
/** What a server gets to follow a cancel, then the connection is cut. */
const cancelMs = 2_000

async function within<Value>(
  signal: AbortSignal,
  limitMs: number,
  act: () => Promise<Value>,
  cancel: () => Promise<void>,
  socket: import('node:net').Socket,
  guard: ByteGuard,
): Promise<Value> {
  let cause: BrowseError | null = null
  let cut: NodeJS.Timeout | undefined
  const stop = (error: BrowseError) => {
    cause ??= error
    void cancel()
    cut ??= setTimeout(() => socket.destroy(), cancelMs)
  }
  const abort = () => stop(new BrowseError('cancelled', 'It was cancelled.'))
  const limit = setTimeout(() => stop(tooLate(limitMs)), limitMs)
  signal.addEventListener('abort', abort, { once: true })
  try {
    signal.throwIfAborted()
    return await act()
  } catch (error) {
    throw cause ?? asBrowseError(error, guard)
  } finally {
    clearTimeout(limit)
    clearTimeout(cut)
    signal.removeEventListener('abort', abort)
  }
}

export function tooLate(limitMs: number): BrowseError {
  return new BrowseError('too_late', `It took longer than ${limitMs / 1000} seconds and was cancelled.`)
}

const cancelledState = '57014'

export function asBrowseError(
  error: unknown,
  guard: ByteGuard,
  otherwise: BrowseError['code'] = 'refused',
): BrowseError {
  if (guard.fault !== null) return guard.fault
  if (error instanceof BrowseError) return error
  const { message, code, position, detail, hint } = error as Error & Readonly<Record<string, unknown>>
  const isOfServer = typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && 'severity' in (error as object)
  if (!isOfServer) return new BrowseError('unreachable', `The connection to the database failed: ${message}`)
  if (code === cancelledState && message.includes('statement timeout'))
    return new BrowseError('too_late', 'It took longer than allowed and was cancelled.')
  const facts: Record<string, string | number> = { sqlState: code }
  if (/^\d+$/.test(String(position ?? ''))) facts.position = Number(position)
  if (typeof detail === 'string') facts.serverDetail = detail.slice(0, 1000)
  if (typeof hint === 'string') facts.serverHint = hint.slice(0, 1000)
  return new BrowseError(otherwise, message, facts)
}
