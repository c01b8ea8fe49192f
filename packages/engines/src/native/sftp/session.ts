import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  opendirSync,
  openSync,
  readlinkSync,
  readSync,
  renameSync,
  rmdirSync,
  type Stats,
  statfsSync,
  symlinkSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { mostAhead, statusAnswer as status, tellAhead } from './ahead.ts'
import { type Attributes, longName, readAttributes, writeAttributes } from './attributes.ts'
import { answerOfError } from './errors.ts'
import {
  changeAt,
  changeLinkAt,
  changeOpen,
  closeQuietly,
  codeOf,
  failure,
  openFile,
  openFlags,
  refuseRoot,
  renameToNew,
} from './files.ts'
import { createHandles, mostHandles } from './handles.ts'
import { namesOf, type Place, pinned, type Root } from './place.ts'
import {
  BadPacketError,
  longestPacket,
  markExtension,
  mostData,
  PacketReader,
  PacketWriter,
  packets,
  statuses,
} from './wire.ts'

/*
 * The server’s side of SFTP version 3, with the extensions of OpenSSH that its clients use. One packet in, one packet out, in order. It
 * runs as the user of the project and does nothing outside the root.
 */

/** Answers what to send back. Throws `BadPacketError` when the client does not speak the protocol: the session is over then. */
export type SftpSession = (packet: Buffer) => Buffer

export interface SessionOptions {
  /** A new link’s place comes before its target, as the draft has it. OpenSSH has it the other way round. */
  readonly linkFirst: boolean
  /** With an open file goes what is in it, when it is small: see `ahead.ts`. */
  readonly ahead: boolean
}

export function createSession(root: Root, options: SessionOptions): SftpSession {
  const acts = createActs(root, options)
  let begun = false
  return (bytes) => {
    const packet = new PacketReader(bytes)
    const type = packet.byte()
    if (!begun) {
      if (type !== packets.init) throw new BadPacketError('a session that does not begin with its version')
      begun = true
      return versionAnswer()
    }
    const id = packet.uint32()
    const act = acts[type]
    if (act === undefined) return status(id, statuses.unsupported, 'This server does not know the request')
    try {
      return act(id, packet) ?? status(id, statuses.ok, 'Success')
    } catch (error) {
      if (error instanceof BadPacketError) throw error
      const { code, message } = answerOfError(error)
      return status(id, code, message)
    }
  }
}

/** Null: success, and nothing else to tell. */
type Act = (id: number, packet: PacketReader) => Buffer | null

function createActs(root: Root, options: SessionOptions): Readonly<Record<number, Act>> {
  return {
    ...fileActs(root, options),
    ...nameActs(root),
    ...linkActs(root, options),
    [packets.extended]: extendedAct(root),
  }
}

const handles = createHandles()

/** What is done with what is open. */
function fileActs(root: Root, { ahead }: SessionOptions): Readonly<Record<number, Act>> {
  return {
    [packets.open]: (id, packet) => {
      const [path, flags, attributes] = [packet.text(), packet.uint32(), readAttributes(packet)]
      const fd = root.at(path, 'follow', (place) => openFile(place, flags, attributes.mode ?? 0o666))
      const name = handles.add({ kind: 'file', fd, appends: (flags & 4) !== 0 })
      if (name !== null) return openAnswer(id, name, ahead && flags === openFlags.read ? fd : null)
      closeQuietly(fd)
      throw failure('EMFILE', `A session has at most ${mostHandles} files open`)
    },
    [packets.close]: (_id, packet) => {
      handles.close(packet.bytes())
      return null
    },
    ...(ahead ? { [packets.closeSilently]: closeSilently } : {}),
    [packets.read]: (id, packet) => {
      const [{ fd }, offset, length] = [handles.file(packet.bytes()), packet.uint64(), packet.uint32()]
      return readAnswer(id, fd, offset, Math.min(length, mostData))
    },
    [packets.write]: (_id, packet) => {
      const [{ fd, appends }, offset, data] = [handles.file(packet.bytes()), packet.uint64(), packet.bytes()]
      for (let at = 0; at < data.length; ) at += writeSync(fd, data, at, data.length - at, appends ? null : offset + at)
      return null
    },
    [packets.fstat]: (id, packet) => attributesAnswer(id, fstatSync(handles.file(packet.bytes()).fd)),
    [packets.fsetstat]: (_id, packet) => {
      changeOpen(handles.file(packet.bytes()).fd, readAttributes(packet))
      return null
    },
    [packets.opendir]: (id, packet) => root.at(packet.text(), 'follow', (place) => openFolder(id, place)),
    [packets.readdir]: (id, packet) => {
      const { dir, path } = handles.folder(packet.bytes())
      const entries: Entry[] = []
      while (entries.length < mostEntries) {
        const name = dir.readSync()?.name as unknown as Buffer | undefined
        if (name === undefined) break
        // One that went meanwhile is not listed.
        const info = lstatSync(Buffer.concat([path, slash, name]), { throwIfNoEntry: false })
        if (info !== undefined) entries.push({ name: name.toString('latin1'), info })
      }
      return entries.length === 0 ? status(id, statuses.endOfFile, 'End of the list') : namesAnswer(id, entries)
    },
  }
}

/** The client has its answer. */
function closeSilently(_id: number, packet: PacketReader): Buffer {
  try {
    handles.close(packet.bytes())
  } catch {}
  return nothing
}

/** What is done by path. */
function nameActs(root: Root): Readonly<Record<number, Act>> {
  const change = (use: (place: Place, wanted: Attributes) => void, last: 'follow' | 'keep'): Act => {
    return (_id, packet) => {
      const [path, wanted] = [packet.text(), readAttributes(packet)]
      root.at(path, last, (place) => use(place, wanted))
      return null
    }
  }
  const one = (last: 'follow' | 'keep', use: (place: Place) => void): Act => {
    return (_id, packet) => {
      root.at(packet.text(), last, use)
      return null
    }
  }
  return {
    [packets.lstat]: (id, packet) =>
      root.at(packet.text(), 'keep', (place) => attributesAnswer(id, lstatSync(place.path))),
    [packets.stat]: (id, packet) =>
      root.at(packet.text(), 'follow', (place) => attributesAnswer(id, lstatSync(place.path))),
    [packets.setstat]: change(changeAt, 'follow'),
    [packets.remove]: one('keep', (place) => {
      refuseRoot(place)
      unlinkSync(place.path)
    }),
    [packets.rmdir]: one('keep', (place) => {
      refuseRoot(place)
      rmdirSync(place.path)
    }),
    [packets.mkdir]: change((place, { mode = 0o777 }) => {
      if (place.name === '.') throw failure('EEXIST', 'The folder is there')
      mkdirSync(place.path, { mode: mode & 0o777 })
    }, 'keep'),
    [packets.realpath]: (id, packet) => {
      const path = realPath(root, packet.text())
      return new PacketWriter(packets.name, id).uint32(1).text(path).text(path).uint32(0).end()
    },
    [packets.rename]: (_id, packet) => two(root, packet, renameToNew),
  }
}

function linkActs(root: Root, { linkFirst }: SessionOptions): Readonly<Record<number, Act>> {
  return {
    [packets.readlink]: (id, packet) =>
      root.at(packet.text(), 'keep', (place) => {
        const target = readlinkSync(place.path, 'latin1')
        return new PacketWriter(packets.name, id).uint32(1).text(target).text(target).uint32(0).end()
      }),
    [packets.symlink]: (_id, packet) => {
      const [one, other] = [packet.bytes(), packet.bytes()]
      const [target, path] = linkFirst ? [other, one] : [one, other]
      root.at(path.toString('latin1'), 'keep', (place) => {
        refuseRoot(place)
        symlinkSync(target, place.path)
      })
      return null
    },
  }
}

function extendedAct(root: Root): Act {
  return (id, packet) => {
    const name = packet.text()
    switch (name) {
      case 'posix-rename@openssh.com':
        return two(root, packet, (from, to) => {
          refuseRoot(from)
          refuseRoot(to)
          renameSync(from.path, to.path)
        })
      case 'hardlink@openssh.com':
        return two(root, packet, (from, to) => linkSync(from.path, to.path))
      case 'fsync@openssh.com':
        fsyncSync(handles.file(packet.bytes()).fd)
        return null
      case markExtension:
        return new PacketWriter(packets.extendedReply, id).text(markOf(handles.file(packet.bytes()).fd)).end()
      case 'lsetstat@openssh.com': {
        const [path, wanted] = [packet.text(), readAttributes(packet)]
        root.at(path, 'keep', (place) => changeLinkAt(place, wanted))
        return null
      }
      case 'statvfs@openssh.com':
        return root.at(packet.text(), 'follow', (place) => pinned(place, (path) => roomAnswer(id, path)))
      case 'fstatvfs@openssh.com':
        return roomAnswer(id, `/proc/self/fd/${handles.file(packet.bytes()).fd}`)
      case 'expand-path@openssh.com': {
        const path = realPath(root, packet.text().replace(/^~(?=\/|$)/, '/'))
        return new PacketWriter(packets.name, id).uint32(1).text(path).text(path).uint32(0).end()
      }
      case 'limits@openssh.com':
        return new PacketWriter(packets.extendedReply, id)
          .uint64(longestPacket)
          .uint64(mostData)
          .uint64(mostData)
          .uint64(mostHandles)
          .end()
      default:
        return status(id, statuses.unsupported, 'This server does not know the extension')
    }
  }
}

/** Another one when the file was written to or replaced; seconds, as version 3 has them, would be too coarse. */
function markOf(fd: number): string {
  const { ino, size, mtimeNs, ctimeNs } = fstatSync(fd, { bigint: true })
  return `${ino}-${size}-${mtimeNs}-${ctimeNs}`
}

/** The first place is held while the second is found. */
function two(root: Root, packet: PacketReader, use: (from: Place, to: Place) => void): null {
  const [from, to] = [packet.text(), packet.text()]
  root.at(from, 'keep', (one) => root.at(to, 'keep', (other) => use(one, other)))
  return null
}

/** Resolved as far as it is there; of the rest its names. */
function realPath(root: Root, path: string): string {
  try {
    return `/${root.at(path, 'follow', ({ trail }) => trail).join('/')}`
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR'].includes(codeOf(error))) throw error
    const trail: string[] = []
    for (const name of namesOf(path)) {
      if (name === '..') trail.pop()
      else trail.push(name)
    }
    return `/${trail.join('/')}`
  }
}

function openFolder(id: number, place: Place): Buffer {
  const fd = openSync(place.path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  const path = process.platform === 'linux' ? Buffer.from(`/proc/self/fd/${fd}`) : place.path
  try {
    // Types say that folders are read as text only.
    const encoded = { encoding: 'buffer' } as unknown as { encoding: 'utf8' }
    const dir = opendirSync(Buffer.concat([path, slash, Buffer.from('.')]) as unknown as string, encoded)
    const close = () => {
      dir.closeSync()
      closeQuietly(fd)
    }
    const name = handles.add({ kind: 'folder', dir, path, close })
    if (name !== null) return handleAnswer(id, name)
    dir.closeSync()
    throw failure('EMFILE', `A session has at most ${mostHandles} files open`)
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

/** `fd`: of a file that is only read. One that cannot be read ahead is told so when it is read. */
function openAnswer(id: number, name: Buffer, fd: number | null): Buffer {
  const answer = handleAnswer(id, name)
  if (fd === null) return answer
  try {
    const info = fstatSync(fd)
    if (info.size > mostAhead) return answer
    const data = Buffer.allocUnsafe(info.size + 1)
    const read = readSync(fd, data, 0, data.length, 0)
    // It is written to at this moment.
    if (read !== info.size) return answer
    const attributes = attributesAnswer(id, info).subarray(9)
    return Buffer.concat([answer, tellAhead(name, attributes, data.subarray(0, read))])
  } catch {
    return answer
  }
}

/** Read into the packet itself. */
function readAnswer(id: number, fd: number, offset: number, length: number): Buffer {
  const packet = Buffer.allocUnsafe(13 + length)
  const read = readSync(fd, packet, 13, length, offset)
  if (read === 0) return status(id, statuses.endOfFile, 'End of file')
  packet.writeUInt32BE(9 + read)
  packet[4] = packets.data
  packet.writeUInt32BE(id, 5)
  packet.writeUInt32BE(read, 9)
  return packet.subarray(0, 13 + read)
}

function roomAnswer(id: number, path: string | Buffer): Buffer {
  const { bsize, blocks, bfree, bavail, files, ffree } = statfsSync(path)
  const answer = new PacketWriter(packets.extendedReply, id)
  for (const value of [bsize, bsize, blocks, bfree, bavail, files, ffree, ffree, 0, 0, 255]) answer.uint64(value)
  return answer.end()
}

interface Entry {
  readonly name: string
  readonly info: Stats
}

function namesAnswer(id: number, entries: readonly Entry[]): Buffer {
  const answer = new PacketWriter(packets.name, id).uint32(entries.length)
  const now = Date.now()
  for (const { name, info } of entries) writeAttributes(answer.text(name).text(longName(name, info, now)), info)
  return answer.end()
}

function attributesAnswer(id: number, info: Stats): Buffer {
  return writeAttributes(new PacketWriter(packets.attrs, id), info).end()
}

function handleAnswer(id: number, name: Buffer): Buffer {
  return new PacketWriter(packets.handle, id).string(name).end()
}

/** The version stands where other packets have their id. */
function versionAnswer(): Buffer {
  const answer = new PacketWriter(packets.version, 3)
  for (const [name, version] of extensions) answer.text(name).text(version)
  return answer.end()
}

const extensions = [
  ['posix-rename@openssh.com', '1'],
  ['statvfs@openssh.com', '2'],
  ['fstatvfs@openssh.com', '2'],
  ['hardlink@openssh.com', '1'],
  ['fsync@openssh.com', '1'],
  ['lsetstat@openssh.com', '1'],
  ['limits@openssh.com', '1'],
  ['expand-path@openssh.com', '1'],
] as const

const mostEntries = 128
const nothing = Buffer.alloc(0)
const slash = Buffer.from('/')
