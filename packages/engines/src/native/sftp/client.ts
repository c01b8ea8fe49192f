import type { ChildProcess } from 'node:child_process'
import { FilesError } from '../as-user/files-error.ts'
import { filesErrorOfAnswer } from './errors.ts'
import { createPacketCutter, markExtension, mostData, PacketReader, PacketWriter, packets, statuses } from './wire.ts'

export type SftpHandle = Buffer

export interface SftpInfo {
  readonly kind: 'file' | 'folder' | 'link' | 'other'
  readonly size: number
  /** Rights alone. */
  readonly mode: number
  /** Seconds since 1970. */
  readonly modified: number
}

/** A name is bytes, one in each character (latin1), as in all paths here. */
export interface SftpEntry extends SftpInfo {
  readonly name: string
}

/**
 * The service’s side of an SFTP process of its own: what it asks is done by the project’s user below the root. Everything fails with
 * `FilesError`. What is answered is checked, and a process that does not answer is killed: a program of the same user may stop it.
 */
export interface SftpFiles {
  /** In no order, at most so many. */
  list(path: string, most: number): Promise<{ readonly entries: readonly SftpEntry[]; readonly isWhole: boolean }>
  /** Of the place itself, or of what its links lead to. */
  look(path: string, links: 'keep' | 'follow'): Promise<SftpInfo>
  /** With links resolved; throws for what lies outside. */
  realPath(path: string): Promise<string>
  linkTarget(path: string): Promise<string>
  openToRead(path: string): Promise<SftpHandle>
  /** Must not be there. */
  openNew(path: string, mode: number): Promise<SftpHandle>
  /** Null at the end. */
  read(handle: SftpHandle, offset: number, length: number): Promise<Buffer | null>
  write(handle: SftpHandle, offset: number, bytes: Uint8Array): Promise<void>
  info(handle: SftpHandle): Promise<SftpInfo>
  mark(handle: SftpHandle): Promise<string>
  setMode(at: SftpHandle | string, mode: number): Promise<void>
  sync(handle: SftpHandle): Promise<void>
  close(handle: SftpHandle): Promise<void>
  makeFolder(path: string): Promise<void>
  /** Nothing is replaced. */
  rename(from: string, to: string): Promise<void>
  /** What is at `to` is replaced in one act. */
  replace(from: string, to: string): Promise<void>
  removeFile(path: string): Promise<void>
  removeFolder(path: string): Promise<void>
  readonly isOpen: boolean
  end(): void
}

/** A large file on a slow disk is written out within it. */
const patienceMs = 60_000
const flags = { read: 1, write: 2, create: 8, exclusive: 32 }
const modeAlone = 4

export function openSftpFiles(child: ChildProcess): SftpFiles {
  const ask = asking(child)
  const done = async (type: number, ...fields: readonly Field[]) => {
    const answer = await ask(type, fields)
    if (answer.type !== packets.status) throw new FilesError('broken')
  }
  const handleOf = async (type: number, ...fields: readonly Field[]): Promise<SftpHandle> => {
    const answer = await ask(type, fields)
    return expected(answer, packets.handle).bytes()
  }
  const oneName = async (type: number, path: string) => {
    const packet = expected(await ask(type, [path]), packets.name)
    if (packet.uint32() !== 1) throw new FilesError('broken')
    return packet.text()
  }
  const infoOf = async (type: number, at: Field) => readInfo(expected(await ask(type, [at]), packets.attrs))
  const files: SftpFiles = {
    list: async (path, most) => {
      const handle = await handleOf(packets.opendir, path)
      const entries: SftpEntry[] = []
      try {
        while (entries.length < most) {
          const answers = await Promise.all(Array.from({ length: 8 }, () => ask(packets.readdir, [handle])))
          for (const answer of answers) {
            if (answer.isEnd) return { entries: entries.slice(0, most), isWhole: entries.length <= most }
            entries.push(...readEntries(expected(answer, packets.name)))
          }
        }
        return { entries: entries.slice(0, most), isWhole: false }
      } finally {
        await files.close(handle).catch(() => undefined)
      }
    },
    look: (path, links) => infoOf(links === 'keep' ? packets.lstat : packets.stat, path),
    realPath: (path) => oneName(packets.realpath, path),
    linkTarget: (path) => oneName(packets.readlink, path),
    openToRead: (path) => handleOf(packets.open, path, flags.read, 0),
    openNew: (path, mode) =>
      handleOf(packets.open, path, flags.write | flags.create | flags.exclusive, modeAlone, mode),
    read: async (handle, offset, length) => {
      const answer = await ask(packets.read, [handle, BigInt(offset), Math.min(length, mostData)])
      if (answer.isEnd) return null
      const bytes = expected(answer, packets.data).bytes()
      if (bytes.length === 0 || bytes.length > length) throw new FilesError('broken')
      return bytes
    },
    write: async (handle, offset, bytes) => {
      for (let at = 0; at < bytes.length; at += mostWritten)
        await done(packets.write, handle, BigInt(offset + at), Buffer.from(bytes.subarray(at, at + mostWritten)))
    },
    info: (handle) => infoOf(packets.fstat, handle),
    mark: async (handle) => {
      const mark = expected(await ask(packets.extended, [markExtension, handle]), packets.extendedReply).text()
      if (!/^[\d-]{1,100}$/.test(mark)) throw new FilesError('broken')
      return mark
    },
    setMode: (at, mode) => done(typeof at === 'string' ? packets.setstat : packets.fsetstat, at, modeAlone, mode),
    sync: (handle) => done(packets.extended, 'fsync@openssh.com', handle),
    close: (handle) => done(packets.close, handle),
    makeFolder: (path) => done(packets.mkdir, path, 0),
    rename: (from, to) => done(packets.rename, from, to),
    replace: (from, to) => done(packets.extended, 'posix-rename@openssh.com', from, to),
    removeFile: (path) => done(packets.remove, path),
    removeFolder: (path) => done(packets.rmdir, path),
    get isOpen() {
      return child.exitCode === null && child.signalCode === null && child.stdin?.writable === true
    },
    end: () => void child.kill('SIGKILL'),
  }
  return files
}

const mostWritten = 128 << 10

/** A number is of four bytes, a bigint of eight. */
type Field = string | number | bigint | Buffer

interface Answer {
  readonly type: number
  readonly isEnd: boolean
  readonly packet: PacketReader
}

function asking(child: ChildProcess): (type: number, fields: readonly Field[]) => Promise<Answer> {
  const waiting = new Map<number, { resolve(answer: Answer): void; reject(error: unknown): void }>()
  let next = 1
  let isOver = false
  const over = () => {
    isOver = true
    for (const { reject } of waiting.values()) reject(new FilesError('broken'))
    waiting.clear()
  }
  const cut = createPacketCutter((bytes) => {
    const type = bytes[0]
    if (type === packets.version) return
    // A packet is ours until this returns.
    const packet = new PacketReader(Buffer.from(bytes), 1)
    const id = packet.uint32()
    const asked = waiting.get(id)
    waiting.delete(id)
    if (asked === undefined) throw new FilesError('broken')
    const status = type === packets.status ? packet.uint32() : statuses.ok
    const isEnd = status === statuses.endOfFile
    if (status === statuses.ok || isEnd) asked.resolve({ type: type!, isEnd, packet })
    else asked.reject(filesErrorOfAnswer(packet.text()))
  })
  child.stdout?.on('data', (chunk: Buffer) => {
    try {
      cut(chunk)
    } catch {
      child.kill('SIGKILL')
      over()
    }
  })
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on('error', () => {})
  child.stderr?.resume()
  child.once('error', over)
  child.once('close', over)
  child.stdin?.write(new PacketWriter(packets.init, 3).end())
  return async (type, fields) => {
    if (isOver) throw new FilesError('broken')
    const id = next
    next = (next + 1) >>> 0
    const packet = new PacketWriter(type, id)
    for (const field of fields) {
      if (typeof field === 'number') packet.uint32(field)
      else if (typeof field === 'bigint') packet.uint64(field)
      else if (typeof field === 'string') packet.text(field)
      else packet.string(field)
    }
    const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs)
    try {
      return await new Promise<Answer>((resolve, reject) => {
        waiting.set(id, { resolve, reject })
        child.stdin?.write(packet.end())
      })
    } finally {
      clearTimeout(timer)
    }
  }
}

function expected({ type, packet }: Answer, wanted: number): PacketReader {
  if (type !== wanted) throw new FilesError('broken')
  return packet
}

function readEntries(packet: PacketReader): readonly SftpEntry[] {
  const entries: SftpEntry[] = []
  for (let left = packet.uint32(); left > 0; left -= 1) {
    const name = packet.text()
    packet.bytes()
    const info = readInfo(packet)
    if (name !== '.' && name !== '..' && name !== '' && !name.includes('/')) entries.push({ name, ...info })
  }
  return entries
}

/** All attributes, as our own server always sends them. */
function readInfo(packet: PacketReader): SftpInfo {
  if (packet.uint32() !== 15) throw new FilesError('broken')
  const size = packet.uint64()
  packet.uint32()
  packet.uint32()
  const mode = packet.uint32()
  packet.uint32()
  const modified = packet.uint32()
  return { kind: kinds[(mode >> 12) & 15] ?? 'other', size, mode: mode & 0o7777, modified }
}

const kinds: Readonly<Record<number, SftpInfo['kind']>> = { 4: 'folder', 8: 'file', 10: 'link' }
