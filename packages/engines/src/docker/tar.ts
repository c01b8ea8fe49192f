import { pipeline, Readable } from 'node:stream'
import { extract, pack } from 'tar-stream'

/** Of six octal digits. */
const mostPlainId = 0o777777

/** One entry of an archive as Docker sends them. */
export interface TarEntry {
  readonly name: string
  readonly kind: 'file' | 'directory' | 'other'
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly size: number
  /** Its content, which may be left unread, but not half read. */
  readonly body: AsyncIterable<Buffer>
}

/** The entries of an archive, one after the other. The source is ended when the caller stops. */
export async function* tarEntries(source: AsyncIterable<Buffer | string>): AsyncGenerator<TarEntry> {
  const archive = extract()
  // An error of the source is thrown to the caller that asks for the next entry, or for more of a body.
  pipeline(Readable.from(source), archive, () => {})
  for await (const entry of archive) {
    const { name, type, mode = 0, uid = 0, gid = 0, size = 0 } = entry.header
    const kind = type === 'file' || type === 'directory' ? type : 'other'
    yield { name, kind, mode: mode & 0o7777, uid, gid, size, body: entry as AsyncIterable<Buffer> }
    entry.resume()
  }
}

/** An archive of one directory, for giving it an owner. */
export async function directoryArchive(
  name: string,
  { mode, uid, gid }: { readonly mode: number; readonly uid: number; readonly gid: number },
): Promise<Buffer> {
  const archive = pack()
  // The field of a plain header has no room for larger ids: then an extended one goes before it.
  const pax = Math.max(uid, gid) > mostPlainId ? { pax: { uid: String(uid), gid: String(gid) } } : {}
  archive.entry({ name: `${name}/`, type: 'directory', mode, uid, gid, mtime: new Date(0), ...pax })
  archive.finalize()
  return Buffer.concat(await Array.fromAsync(archive as AsyncIterable<Buffer>))
}
