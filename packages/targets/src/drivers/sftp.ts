import { randomBytes } from 'node:crypto'
import type { Client, SFTPWrapper } from 'ssh2'
import { isObjectName, newest, requireName, type Target, TargetError } from '../target.ts'
import { connectSftp, type SftpCredentials, type SftpSettings } from './sftp-connection.ts'

/** What every server takes in one request, and how many are under way: one after the other would wait for each answer. */
const requestBytes = 32 << 10
const requestsAtOnce = 32

/** RFC draft-ietf-secsh-filexfer-02, section 7. */
const status = { noSuchFile: 2, permissionDenied: 3, failure: 4, noConnection: 6, connectionLost: 7 } as const

type Connection = Awaited<ReturnType<typeof connectSftp>>

export function openSftpTarget(settings: SftpSettings, credentials: SftpCredentials): Target {
  let connecting: Promise<Connection> | null = null
  const connection = (): Promise<Connection> => {
    if (connecting !== null) return connecting
    const lost = () => {
      if (connecting === mine) connecting = null
    }
    const mine = connectSftp(settings, credentials, lost)
    connecting = mine
    mine.catch(lost)
    return mine
  }
  /** A signal that aborts ends the connection: a request that is under way has no other end. */
  const ask = async <Result>(signal: AbortSignal, act: (sftp: SFTPWrapper) => Promise<Result>): Promise<Result> => {
    signal.throwIfAborted()
    const { client, sftp } = await connection()
    const { promise: lost, reject } = Promise.withResolvers<never>()
    const abort = () => client.destroy()
    const end = () => reject(new TargetError('unreachable', `The connection to ${settings.host} was lost.`))
    signal.addEventListener('abort', abort, { once: true })
    client.once('close', end)
    lost.catch(() => undefined)
    try {
      return await Promise.race([act(sftp), lost])
    } catch (error) {
      signal.throwIfAborted()
      throw asTargetError(settings, error)
    } finally {
      signal.removeEventListener('abort', abort)
      client.off('close', end)
    }
  }
  const root = settings.path.replace(/\/+$/, '')
  const place = (name: string) => `${root}/${requireName(name)}`

  return {
    put: (name, bytes, signal) =>
      ask(signal, async (sftp) => {
        await requireRoot(sftp, root, settings)
        await makeFoldersAbove(sftp, root, name)
        await putFile(sftp, place(name), bytes).catch(async (error: unknown) => {
          throw (await isFull(sftp, root, bytes.length, error)) ? full(settings, error) : error
        })
      }),
    get: (name, mostBytes, signal) => ask(signal, (sftp) => getFile(sftp, place(name), name, mostBytes)),
    stat: (name, signal) => ask(signal, (sftp) => plainSize(sftp, place(name))),
    list: (folder, signal) =>
      ask(signal, async (sftp) => {
        await requireRoot(sftp, root, settings)
        const files = await entriesOf(sftp, place(folder), 'isFile')
        return new Map(files.map(({ filename, attrs }) => [filename, attrs.size]))
      }),
    folders: (folder, signal) => ask(signal, (sftp) => foldersIn(sftp, place(folder))),
    changedAt: (folder, signal) => ask(signal, (sftp) => newestIn(sftp, place(folder))),
    remove: (name, signal) =>
      ask(signal, async (sftp) => {
        await orNull(call<void>((done) => sftp.unlink(place(name), done)))
        const folder = place(name).slice(0, place(name).lastIndexOf('/'))
        // The last one takes its folder along; others are not empty.
        if (name.includes('/')) await call<void>((done) => sftp.rmdir(folder, done)).catch(() => undefined)
      }),
    freeBytes: (signal) =>
      ask(signal, async (sftp) => {
        await requireRoot(sftp, root, settings)
        return freeBytes(sftp, root)
      }),
    close: async () => {
      const ending = connecting
      connecting = null
      const { client } = (await ending?.catch(() => null)) ?? {}
      if (client !== undefined) await ended(client)
    },
  }
}

interface Entry {
  readonly filename: string
  readonly attrs: { readonly size: number; readonly mtime: number; isFile(): boolean; isDirectory(): boolean }
}

async function entriesOf(sftp: SFTPWrapper, folder: string, kind: 'isFile' | 'isDirectory'): Promise<readonly Entry[]> {
  const entries = await orNull(call<readonly Entry[]>((done) => sftp.readdir(folder, done)))
  return (entries ?? []).filter(({ filename, attrs }) => isObjectName(filename) && attrs[kind]())
}

async function foldersIn(sftp: SFTPWrapper, folder: string): Promise<readonly string[]> {
  return (await entriesOf(sftp, folder, 'isDirectory')).map(({ filename }) => filename)
}

async function newestIn(sftp: SFTPWrapper, folder: string): Promise<number | null> {
  return newest((await entriesOf(sftp, folder, 'isFile')).map(({ attrs }) => attrs.mtime * 1000))
}

async function ended(client: Client): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  client.once('close', () => resolve())
  client.end()
  const late = setTimeout(() => client.destroy(), 2000)
  await promise
  clearTimeout(late)
}

async function requireRoot(sftp: SFTPWrapper, root: string, { host }: SftpSettings): Promise<void> {
  const found = await orNull(call<{ isDirectory(): boolean }>((done) => sftp.stat(root === '' ? '/' : root, done)))
  if (found?.isDirectory() !== true) throw new TargetError('missing', `There is no folder ${root} on ${host}.`)
}

async function makeFoldersAbove(sftp: SFTPWrapper, root: string, name: string): Promise<void> {
  let folder = root
  for (const part of name.split('/').slice(0, -1)) {
    folder = `${folder}/${part}`
    // That it is there already is a failure like any other; whether it is shows with the file.
    await call<void>((done) => sftp.mkdir(folder, { mode: 0o700 }, done)).catch((error: unknown) => {
      if ((error as { code?: number }).code !== status.failure) throw error
    })
  }
}

/** Beside its name until it is whole and on the disk. */
async function putFile(sftp: SFTPWrapper, path: string, bytes: Uint8Array): Promise<void> {
  const beside = `${path}.${randomBytes(4).toString('hex')}-new`
  try {
    const handle = await call<Buffer>((done) => sftp.open(beside, 'wx', { mode: 0o600 }, done))
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    await inRequests(bytes.length, (at, length) =>
      call<void>((done) => sftp.write(handle, buffer, at, length, at, done)),
    )
    await call<void>((done) => sftp.ext_openssh_fsync(handle, done)).catch(ifNotOffered)
    await call<void>((done) => sftp.close(handle, done))
    await replace(sftp, beside, path)
  } catch (error) {
    await call<void>((done) => sftp.unlink(beside, done)).catch(() => undefined)
    throw error
  }
}

/** In one act where the server offers that. Elsewhere a crash between the two leaves none, which is no half of one. */
async function replace(sftp: SFTPWrapper, from: string, to: string): Promise<void> {
  try {
    await call<void>((done) => sftp.ext_openssh_rename(from, to, done))
  } catch (error) {
    ifNotOffered(error)
    await orNull(call<void>((done) => sftp.unlink(to, done)))
    await call<void>((done) => sftp.rename(from, to, done))
  }
}

async function getFile(sftp: SFTPWrapper, path: string, name: string, mostBytes: number): Promise<Buffer | null> {
  const size = await plainSize(sftp, path)
  if (size === null) return null
  if (size > mostBytes) throw new TargetError('damaged', `${name} is larger than it can be.`)
  const handle = await call<Buffer>((done) => sftp.open(path, 'r', done))
  const bytes = Buffer.alloc(size)
  try {
    await inRequests(size, async (at, length) => {
      // A server may answer with less than was asked for.
      for (let done = 0; done < length; ) {
        const read = await call<number>((answer) =>
          sftp.read(handle, bytes, at + done, length - done, at + done, (error, count) => answer(error, count)),
        )
        if (read === 0) throw new TargetError('damaged', `${name} became shorter while it was read.`)
        done += read
      }
    })
  } finally {
    await call<void>((done) => sftp.close(handle, done)).catch(() => undefined)
  }
  return bytes
}

export async function inRequests(size: number, request: (at: number, length: number) => Promise<void>): Promise<void> {
  let next = 0
  const run = async () => {
    while (next < size) {
      const at = next
      next += requestBytes
      await request(at, Math.min(requestBytes, size - at))
    }
  }
  await Promise.all(Array.from({ length: requestsAtOnce }, run))
}

async function plainSize(sftp: SFTPWrapper, path: string): Promise<number | null> {
  const found = await orNull(call<Entry['attrs']>((done) => sftp.lstat(path, done)))
  return found?.isFile() === true ? found.size : null
}

async function freeBytes(sftp: SFTPWrapper, root: string): Promise<number | null> {
  try {
    const { f_bavail, f_frsize } = await call<{ f_bavail: number; f_frsize: number }>((done) =>
      sftp.ext_openssh_statvfs(root === '' ? '/' : root, (error, found) => done(error, found)),
    )
    return Number(f_bavail) * Number(f_frsize)
  } catch (error) {
    ifNotOffered(error)
    return null
  }
}

/** The protocol has no word for a full disk. */
async function isFull(sftp: SFTPWrapper, root: string, needed: number, error: unknown): Promise<boolean> {
  if ((error as { code?: number }).code !== status.failure) return false
  const free = await freeBytes(sftp, root).catch(() => null)
  return free !== null && free < needed
}

function full({ host, path }: SftpSettings, cause: unknown): TargetError {
  return new TargetError('full', `There is no room in ${path} on ${host}.`, { cause })
}

/** OpenSSH’s extensions: the library throws where the server did not name them. */
function ifNotOffered(error: unknown): void {
  const { message = '', code } = error as { readonly message?: string; readonly code?: number }
  if (/does not support this extended request/i.test(message) || code === 8) return
  throw error
}

export function call<Result>(
  act: (done: (error: Error | undefined | null, result?: Result) => void) => void,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    act((error, result) => (error ? reject(error) : resolve(result as Result)))
  })
}

async function orNull<Found>(promise: Promise<Found>): Promise<Found | null> {
  try {
    return await promise
  } catch (error) {
    if ((error as { code?: number }).code === status.noSuchFile) return null
    throw error
  }
}

export function asTargetError({ host, path }: Pick<SftpSettings, 'host' | 'path'>, error: unknown): unknown {
  if (error instanceof TargetError) return error
  const { code, message = '' } = error as { readonly code?: number | string; readonly message?: string }
  const cause = { cause: error }
  if (code === status.permissionDenied) return new TargetError('refused', `${host} allows no access to ${path}.`, cause)
  if (
    code === status.noConnection ||
    code === status.connectionLost ||
    typeof code === 'string' ||
    /no response|not connected|closed|ended/i.test(message)
  )
    return new TargetError('unreachable', `The connection to ${host} was lost.`, cause)
  if (typeof code === 'number')
    return new TargetError('refused', `${host} refuses what is asked in ${path} (${message.slice(0, 200)}).`, cause)
  return error
}
