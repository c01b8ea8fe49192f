import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { type Pack, pack } from 'tar-stream'

export interface TarFile {
  readonly name: string
  readonly path: string
}

/** A tar of files that do not change, in folders of the owner alone, who is the one of this program. Throws when one is not there. */
export async function* tarOf(files: Iterable<TarFile>): AsyncGenerator<Buffer> {
  const target = pack()
  // Without a listener an error would end the process, besides being thrown here.
  target.on('error', () => {})
  const filling = fill(target, files)
  filling.catch((error: Error) => target.destroy(error))
  yield* target as AsyncIterable<Buffer>
  await filling
}

async function fill(target: Pack, files: Iterable<TarFile>): Promise<void> {
  const folders = new Set<string>()
  const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
  target.entry({ ...owner, name: './', type: 'directory', mode: 0o700, mtime: new Date(0) })
  for (const { name, path } of files) {
    const { size, mtime } = await stat(path)
    for (const folder of foldersAbove(name)) {
      if (folders.has(folder)) continue
      folders.add(folder)
      target.entry({ ...owner, name: `${folder}/`, type: 'directory', mode: 0o700, mtime })
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const entry = target.entry({ ...owner, name, mode: 0o600, size, mtime }, (error) =>
      error ? reject(error) : resolve(),
    )
    entry.on('error', () => {})
    if (size === 0) entry.end()
    else
      createReadStream(path, { end: size - 1 })
        .on('error', reject)
        .pipe(entry)
    await promise
  }
  target.finalize()
}

function foldersAbove(name: string): readonly string[] {
  const parts = name.split('/').slice(0, -1)
  return parts.map((_part, index) => parts.slice(0, index + 1).join('/'))
}
