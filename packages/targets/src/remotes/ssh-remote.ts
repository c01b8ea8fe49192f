import type { Client, FileEntryWithStats, SFTPWrapper, Stats } from 'ssh2'
import { asTargetError, call, inRequests } from '../drivers/sftp.ts'
import { connectSftp, type SftpCredentials, type SftpSettings } from '../drivers/sftp-connection.ts'
import { TargetError } from '../target.ts'
import { deepest, exactly, type Remote, type RemoteEntry, requirePlainName, tooMany } from './remote.ts'

type Settings = Omit<SftpSettings, 'path' | 'hostKey'> & { readonly hostKey: string }

/** How much of a file is asked for at once, in several requests. */
const partBytes = 1 << 20

/** A machine that is logged in to. It must show the key that it is known by. */
export async function openSshRemote(settings: Settings, credentials: SftpCredentials): Promise<Remote> {
  const { host } = settings
  const closed = Promise.withResolvers<never>()
  closed.promise.catch(() => undefined)
  const lost = () => closed.reject(new TargetError('unreachable', `The connection to ${host} was lost.`))
  const { client, sftp } = await connectSftp({ ...settings, path: '.' }, credentials, lost)
  const ask = <Result>(path: string, signal: AbortSignal, act: () => Promise<Result>) =>
    asked({ host, path }, client, closed.promise, signal, act)

  const readFile = async function* (path: string, size: number | null, signal: AbortSignal) {
    const handle = await ask(path, signal, () => call<Buffer>((done) => sftp.open(path, 'r', done)))
    try {
      for (let at = 0; size === null || at < size; ) {
        const part = await ask(path, signal, () =>
          size === null ? readSome(sftp, handle, at) : readPart(sftp, handle, at, Math.min(partBytes, size - at), path),
        )
        if (part.length === 0) break
        at += part.length
        yield part
      }
      // One that grew meanwhile is another one than was looked at.
      if (size !== null && (await ask(path, signal, () => readSome(sftp, handle, size))).length > 0)
        throw new TargetError('damaged', `${path} became longer while it was read.`)
    } finally {
      await call<void>((done) => sftp.close(handle, done)).catch(() => undefined)
    }
  }

  return {
    look: async ({ command, path }, signal) => {
      if (command !== undefined || path === undefined) return { name: command ?? '', bytes: null }
      const found = await ask(path, signal, () => call<Stats>((done) => sftp.stat(path, done)))
      if (!found.isFile()) throw new TargetError('missing', `${path} on ${host} is no file.`)
      return { name: path, bytes: found.size }
    },
    read: async function* ({ command, path }, signal) {
      if (command !== undefined) yield* output(client, command, host, closed.promise, signal)
      else if (path !== undefined) {
        const { size } = await ask(path, signal, () => call<Stats>((done) => sftp.stat(path, done)))
        yield* readFile(path, size, signal)
      }
    },
    walk: (folder, most, signal) =>
      walk({ host, folder: folder.replace(/(.)\/+$/, '$1'), most, signal, ask, sftp, readFile }),
    close: async () => {
      client.end()
      const late = setTimeout(() => client.destroy(), 2000)
      await closed.promise.catch(() => undefined)
      clearTimeout(late)
    },
  }
}

type Ask = <Result>(path: string, signal: AbortSignal, act: () => Promise<Result>) => Promise<Result>

/** A signal that aborts ends the connection: a request that is under way has no other end. */
async function asked<Result>(
  where: { readonly host: string; readonly path: string },
  client: Client,
  lost: Promise<never>,
  signal: AbortSignal,
  act: () => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted()
  const abort = () => client.destroy()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([act(), lost])
  } catch (error) {
    signal.throwIfAborted()
    if ((error as { code?: unknown }).code === 2)
      throw new TargetError('missing', `There is no ${where.path} on ${where.host}.`, { cause: error })
    throw asTargetError(where, error)
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

async function readPart(sftp: SFTPWrapper, handle: Buffer, at: number, length: number, path: string): Promise<Buffer> {
  const bytes = Buffer.alloc(length)
  await inRequests(length, async (from, count) => {
    for (let done = 0; done < count; ) {
      const read = await call<number>((answer) =>
        sftp.read(handle, bytes, from + done, count - done, at + from + done, (error, got) => answer(error, got)),
      ).catch(endAsNothing)
      if (read === 0) throw new TargetError('damaged', `${path} became shorter while it was read.`)
      done += read
    }
  })
  return bytes
}

async function readSome(sftp: SFTPWrapper, handle: Buffer, at: number): Promise<Buffer> {
  const bytes = Buffer.alloc(32 << 10)
  const read = await call<number>((answer) =>
    sftp.read(handle, bytes, 0, bytes.length, at, (error, got) => answer(error, got)),
  ).catch(endAsNothing)
  return bytes.subarray(0, read)
}

/** SSH_FX_EOF */
function endAsNothing(error: unknown): number {
  if ((error as { code?: unknown }).code === 1) return 0
  throw error
}

/** What a command writes. It is whole only when it ends with 0. */
async function* output(
  client: Client,
  command: string,
  host: string,
  lost: Promise<never>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  signal.throwIfAborted()
  const abort = () => client.destroy()
  signal.addEventListener('abort', abort, { once: true })
  try {
    const stream = await Promise.race([call<import('ssh2').ClientChannel>((done) => client.exec(command, done)), lost])
    let words = ''
    let end: { readonly code: number | null; readonly signal: string | null } | null = null
    stream.on('exit', (code: number | null, name?: string) => {
      end = { code, signal: name ?? null }
    })
    stream.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (words.length < mostWords) words += text.slice(0, mostWords)
    })
    const closed = Promise.withResolvers<void>()
    stream.on('close', () => closed.resolve())
    stream.end()
    lost.catch(() => {
      stream.destroy()
      closed.resolve()
    })
    yield* stream as AsyncIterable<Uint8Array>
    // How it ended is told behind its output.
    await closed.promise
    const known = end as { readonly code: number | null; readonly signal: string | null } | null
    if (known?.code === 0) return
    if (known === null) throw new TargetError('unreachable', `${host} closed the connection before the command ended.`)
    const how = known.code === null ? `was ended by ${known.signal ?? 'a signal'}` : `ended with ${known.code}`
    throw new TargetError('refused', `The command on ${host} ${how}${saying(words)}.`)
  } catch (error) {
    signal.throwIfAborted()
    throw error instanceof TargetError
      ? error
      : new TargetError('unreachable', `${host} gave no answer to a command.`, { cause: error })
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

const mostWords = 4096

/** The last line that it complained with, for people. */
function saying(words: string): string {
  const line = words
    .trim()
    .split('\n')
    .at(-1)
    ?.replaceAll(/\p{Cc}/gu, ' ')
    .slice(0, 300)
    .replace(/\.$/, '')
  return line === undefined || line === '' ? '' : `: ${line}`
}

interface Walk {
  readonly host: string
  readonly folder: string
  readonly most: number
  readonly signal: AbortSignal
  readonly ask: Ask
  readonly sftp: SFTPWrapper
  readFile(path: string, size: number, signal: AbortSignal): AsyncGenerator<Buffer>
}

/** Links are never followed, and named as what is left out. */
async function* walk(options: Walk): AsyncGenerator<RemoteEntry> {
  const { folder, most, signal, ask, sftp, host } = options
  const top = await ask(folder, signal, () => call<Stats>((done) => sftp.stat(folder, done)))
  if (!top.isDirectory()) throw new TargetError('missing', `${folder} on ${host} is no folder.`)
  let entries = 0
  const waiting: string[] = ['']
  while (waiting.length > 0) {
    const inside = waiting.pop()!
    for await (const { filename, attrs } of listed(`${folder}/${inside}`, options)) {
      if (filename === '.' || filename === '..') continue
      entries += 1
      if (entries > most) throw tooMany(`${folder} on ${host}`, most)
      const path = `${inside}${requirePlainName(filename, host)}`
      if (path.split('/').length > deepest) throw new TargetError('damaged', `${folder} on ${host} is too deep.`)
      yield entryOf(path, attrs, options)
      if (attrs.isDirectory()) waiting.push(`${path}/`)
    }
  }
}

async function* listed(path: string, { ask, sftp, signal }: Walk): AsyncGenerator<FileEntryWithStats> {
  const handle = await ask(path, signal, () => call<Buffer>((done) => sftp.opendir(path, done)))
  try {
    for (;;) {
      const page = await ask(path, signal, () =>
        call<FileEntryWithStats[] | false>((done) => sftp.readdir(handle, done as never)).catch((error: unknown) => {
          if ((error as { code?: unknown }).code === 1) return false as const
          throw error
        }),
      )
      if (page === false) return
      yield* page
    }
  } finally {
    await call<void>((done) => sftp.close(handle, done)).catch(() => undefined)
  }
}

function entryOf(path: string, attrs: Stats, { folder, readFile }: Walk): RemoteEntry {
  if (attrs.isDirectory()) return { path, kind: 'folder' }
  if (!attrs.isFile()) return { path, kind: 'other' }
  const { size, mode, mtime } = attrs
  const at = `${folder}/${path}`
  return {
    path,
    kind: 'file',
    size,
    mode: mode & 0o777,
    modified: mtime,
    read: (signal) => exactly(readFile(at, size, signal), size, at),
  }
}
