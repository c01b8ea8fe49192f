import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { withLock } from './lock.mjs'
import { root } from './places.mjs'

/**
 * Has `build` make something anew when it is missing or older than its sources, one process at a time. `stampFile` is written by `build`,
 * last: it keeps what the sources looked like. Sizes and times are compared, never contents: `npm start` waits for this.
 */
export async function ensureBuilt({ name, stampFile, sources }, build) {
  if (read(stampFile) === fingerprint(sources)) return
  await withLock(name, async () => {
    const wanted = fingerprint(sources)
    if (read(stampFile) !== wanted) await build(wanted)
  })
}

/** Files and folders, below the repository; folders count with everything below them. */
function fingerprint(sources) {
  const hash = createHash('sha256')
  for (const source of sources) add(hash, join(root, source))
  return hash.digest('hex')
}

function add(hash, path) {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return
  if (!stat.isDirectory()) {
    hash.update(`${path}\0${stat.size}\0${stat.mtimeMs}\n`)
    return
  }
  for (const name of readdirSync(path).sort()) add(hash, join(path, name))
}

function read(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
