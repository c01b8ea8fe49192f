import { type Connection, createConnection, type FieldPacket } from 'mysql2'
import { ByteGuard } from '../byte-guard.ts'
import { BrowseError } from '../driver.ts'

export interface Session {
  readonly connection: Connection
  readonly guard: ByteGuard
  readonly isMariadb: boolean
  ask(text: string, values?: readonly (string | Buffer | null)[]): Promise<Answer>
  within<Value>(signal: AbortSignal, limitMs: number, act: () => Promise<Value>): Promise<Value>
  isEnded(): boolean
  end(): Promise<void>
}

export interface Answer {
  readonly rows: readonly (string | number | null)[][]
  readonly affected: number
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

export async function connect(place: Place, account: Account): Promise<Session> {
  const guard = new ByteGuard()
  const connection = createConnection({
    host: place.host,
    port: place.port,
    database: place.database,
    user: account.username,
    password: account.password,
    charset: 'utf8mb4',
    connectTimeout: connectMs,
    multipleStatements: false,
    // A server may ask for a file of this machine.
    flags: ['-LOCAL_FILES'],
    rowsAsArray: true,
    dateStrings: true,
    supportBigNumbers: true,
    bigNumberStrings: true,
    jsonStrings: true,
    stringifyObjects: true,
  })
  let hasEnded = false
  // A connection that breaks is told by what is asked over it.
  connection.on('error', () => {
    hasEnded = true
  })
  connection.on('end', () => {
    hasEnded = true
  })
  guard.watch((connection as unknown as { stream: import('node:net').Socket }).stream)
  const ask = (text: string, values: readonly (string | Buffer | null)[] = []): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const done = (error: Error | null, found: unknown) => {
        if (error !== null) return reject(asBrowseError(error, guard))
        guard.taken()
        if (Array.isArray(found)) resolve({ rows: found as Answer['rows'], affected: found.length })
        else resolve({ rows: [], affected: Number((found as { affectedRows?: unknown }).affectedRows ?? 0) })
      }
      if (values.length === 0) connection.query(text, done)
      else connection.execute(text, [...values], done)
    })
  try {
    await new Promise<void>((resolve, reject) => {
      connection.connect((error) => (error === null ? resolve() : reject(error)))
    })
  } catch (error) {
    connection.destroy()
    throw asBrowseError(error, guard, 'unreachable')
  }
  const [[version] = []] = (await ask('SELECT VERSION()')).rows
  const cancel = async () => {
    const other = await connect(place, account).catch(() => null)
    await other?.ask(`KILL QUERY ${connection.threadId ?? 0}`).catch(() => undefined)
    await other?.end()
  }
  return {
    connection,
    guard,
    isMariadb: /mariadb/i.test(String(version)),
    ask,
    within: (abort, limitMs, act) => within(abort, limitMs, act, cancel, connection, guard),
    isEnded: () => hasEnded,
    end: async () => {
      if (hasEnded) return connection.destroy()
      hasEnded = true
      await new Promise<void>((resolve) => {
        const late = setTimeout(resolve, 1000)
        connection.end(() => {
          clearTimeout(late)
          resolve()
        })
      })
      connection.destroy()
    },
  }
}

export type Fields = readonly FieldPacket[]

const connectMs = 5_000
/** What a server gets to follow a cancel, then the connection is cut. */
const cancelMs = 2_000

async function within<Value>(
  signal: AbortSignal,
  limitMs: number,
  act: () => Promise<Value>,
  cancel: () => Promise<void>,
  connection: Connection,
  guard: ByteGuard,
): Promise<Value> {
  let cut: NodeJS.Timeout | undefined
  const stopped = Promise.withResolvers<never>()
  stopped.promise.catch(() => undefined)
  const stop = (error: BrowseError) => {
    void cancel()
    // Nobody is told by a connection that is cut.
    cut ??= setTimeout(() => {
      connection.destroy()
      stopped.reject(error)
    }, cancelMs)
    cause ??= error
  }
  let cause: BrowseError | null = null
  const abort = () => stop(new BrowseError('cancelled', 'It was cancelled.'))
  const limit = setTimeout(
    () => stop(new BrowseError('too_late', `It took longer than ${limitMs / 1000} seconds and was cancelled.`)),
    limitMs,
  )
  signal.addEventListener('abort', abort, { once: true })
  try {
    signal.throwIfAborted()
    return await Promise.race([act(), stopped.promise])
  } catch (error) {
    throw cause ?? asBrowseError(error, guard)
  } finally {
    clearTimeout(limit)
    clearTimeout(cut)
    signal.removeEventListener('abort', abort)
  }
}

/** Statements that took longer than the server allows. */
const lateNumbers: ReadonlySet<number> = new Set([1969, 3024])

export function asBrowseError(
  error: unknown,
  guard: ByteGuard,
  otherwise: BrowseError['code'] = 'refused',
): BrowseError {
  if (guard.fault !== null) return guard.fault
  if (error instanceof BrowseError) return error
  const { message, errno, sqlState } = error as Error & { readonly errno?: unknown; readonly sqlState?: unknown }
  if (typeof sqlState !== 'string' || typeof errno !== 'number')
    return new BrowseError('unreachable', `The connection to the database failed: ${message}`)
  if (lateNumbers.has(errno)) return new BrowseError('too_late', 'It took longer than allowed and was cancelled.')
  return new BrowseError(otherwise, message, { sqlState: String(sqlState), errno })
}
