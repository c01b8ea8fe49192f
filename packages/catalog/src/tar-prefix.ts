import { pipeline, Readable } from 'node:stream'
import { type Entry, extract, type Headers, type Pack, pack } from 'tar-stream'

/**
 * The same archive with all of it in a folder, which is an entry of its own: what a `BackupProgram` with a prefix wrote, as the
 * tar of the whole kept data. Only the owner may enter the folder, who is that of the first entry. Owners, modes, times and links
 * stay as they are; targets of hard links are in the archive, and move with it. Memory is flat. Throws when the archive breaks off.
 */
export async function* withPrefix(archive: AsyncIterable<Uint8Array>, prefix: string): AsyncGenerator<Buffer> {
  const target = pack().on('error', seen)
  const moving = move(archive, prefix, target)
  moving.catch((error: Error) => target.destroy(error))
  yield* target as AsyncIterable<Buffer>
  await moving
}

async function move(archive: AsyncIterable<Uint8Array>, prefix: string, target: Pack): Promise<void> {
  const source = extract()
  // An error of the archive is thrown to the loop, which asks for the next entry or for more of one.
  pipeline(Readable.from(archive), source, () => {})
  const addFolders = async (owner: Pick<Headers, 'uid' | 'gid'>) => {
    for (const name of ['./', `${prefix}/`])
      await write(target, { ...owner, name, type: 'directory', mode: 0o700, mtime: new Date(0) })
  }
  let isFirst = true
  for await (const entry of source) {
    const { uid, gid } = entry.header
    if (isFirst) await addFolders({ ...(uid === undefined ? {} : { uid }), ...(gid === undefined ? {} : { gid }) })
    isFirst = false
    // Extended headers are made again where the new name needs them.
    const { pax: _extended, ...header } = entry.header as Headers & { readonly pax?: unknown }
    const link = header.type === 'link' ? { linkname: `${prefix}/${header.linkname}` } : {}
    await write(target, { ...header, name: `${prefix}/${header.name}`, ...link }, entry)
  }
  if (isFirst) await addFolders({})
  target.finalize()
}

function write(target: Pack, header: Headers, content?: Entry): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const entry = target.entry(header, (error) => (error ? reject(error) : resolve()))
  if (header.type === 'file' || header.type === 'contiguous-file') content?.pipe(entry)
  else content?.resume()
  entry.on('error', seen)
  content?.on('error', seen)
  return promise
}

/** Who waits for a stream is told of its error; without a listener it would end the process too. */
function seen(): void {}
