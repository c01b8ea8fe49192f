import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { posix } from 'node:path'
import type { Container } from 'dockerode'
import { orAbsent } from './errors.ts'
import { directoryArchive, type TarEntry, tarEntries } from './tar.ts'

/*
 * Files inside a container, mounts included, looked at through Docker's archives: that needs neither a program of the
 * image nor a running container.
 */

/** A path and what is below it; nothing when it is not there. */
export async function* entriesAt(container: Container, path: string): AsyncGenerator<TarEntry> {
  const archive = await orAbsent(container.getArchive({ path }))
  if (archive !== null) yield* tarEntries(archive as AsyncIterable<Buffer>)
}

/** Whether there is something: an empty directory does not count. */
export async function isMadeInside(container: Container, path: string): Promise<boolean> {
  let count = 0
  for await (const { kind } of entriesAt(container, path)) {
    count += 1
    if (kind !== 'directory' || count > 1) return true
  }
  return false
}

/** As for paths of this machine: of a directory, the list of its entries counts. */
export async function contentHashInside(container: Container, path: string): Promise<string> {
  const hash = createHash('sha256')
  const names = new Set<string>()
  let first: TarEntry | undefined
  for await (const entry of entriesAt(container, path)) {
    first ??= entry
    if (entry === first && entry.kind === 'file') for await (const chunk of entry.body) hash.update(chunk)
    const name = posix.normalize(entry.name).split('/')[1]
    if (name) names.add(name)
  }
  if (first === undefined) return 'absent'
  if (first.kind === 'directory') hash.update([...names].sort().join('\0'))
  else if (first.kind === 'other') hash.update('special')
  return hash.digest('hex')
}

export async function textInside(container: Container, path: string): Promise<string> {
  for await (const { kind, body } of entriesAt(container, path)) {
    return kind === 'file' ? Buffer.concat(await Array.fromAsync(body)).toString('utf8') : ''
  }
  return ''
}

export interface Owner {
  readonly mode: number
  readonly uid: number
  readonly gid: number
}

export async function ownerInside(container: Container, path: string): Promise<Owner | null> {
  for await (const { mode, uid, gid } of entriesAt(container, path)) return { mode, uid, gid }
  return null
}

/** Gives a directory that is there an owner; what is in it stays as it is. */
export async function chownInside(container: Container, path: string, owner: Owner): Promise<void> {
  const archive = await directoryArchive(posix.basename(path), owner)
  await container.putArchive(archive, { path: posix.dirname(path) })
}

/** What a path is, without reading it; null when it is not there. Links at its end are not followed. */
export async function modeInside(
  container: Container,
  path: string,
): Promise<{ readonly kind: 'file' | 'directory' | 'other'; readonly bits: number } | null> {
  const answer = (await orAbsent(container.infoArchive({ path }))) as IncomingMessage | null
  if (answer === null) return null
  answer.resume()
  const header = answer.headers['x-docker-container-path-stat']
  const stat = JSON.parse(Buffer.from(String(header), 'base64').toString()) as { mode: number }
  // Go's file mode: the highest bit is a directory, the next five and more are other special files.
  const kind = (stat.mode & 0x80000000) !== 0 ? 'directory' : (stat.mode & 0x7e280000) !== 0 ? 'other' : 'file'
  return { kind, bits: stat.mode & 0o777 }
}
