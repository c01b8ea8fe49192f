import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withLock } from './lock.mjs'
import { childEnv, modules, node, root } from './places.mjs'
import { Refusal } from './refusal.mjs'

const web = join(root, 'apps/web')
const dist = join(web, 'dist')
const stampName = '.built-from'

/** What the page is made of. Folders count with everything below them. */
const sources = [
  'apps/web/src',
  'apps/web/public',
  'apps/web/index.html',
  'apps/web/vite.config.ts',
  'apps/web/package.json',
  'packages/client/src',
  'packages/contract/src',
  'packages/catalog/src',
  'packages/engine-api/src',
  'package-lock.json',
]

/** Builds the page when it is missing or older than its sources. Sizes and times are compared, never contents: `npm start` waits for this. */
export async function ensurePage() {
  if (builtFrom(dist) === fingerprint()) return
  await withLock('page', () => {
    const wanted = fingerprint()
    if (builtFrom(dist) !== wanted) build(wanted)
  })
}

/** Into a folder beside, then swapped: a service that runs never sees half a page, and a failed build leaves the old one. */
function build(stamp) {
  console.error('Building the page …')
  const next = join(web, '.cache', 'page-next')
  const previous = join(web, '.cache', 'page-previous')
  rmSync(next, { recursive: true, force: true })
  const args = [join(modules, 'vite/bin/vite.js'), 'build', '--outDir', next, '--emptyOutDir', '--logLevel', 'warn']
  const { status, error } = spawnSync(node, args, { cwd: web, env: childEnv(), stdio: ['ignore', 2, 2] })
  if (error !== undefined) throw error
  if (status !== 0) throw new Refusal('The page could not be built; the message is above.')
  writeFileSync(join(next, stampName), stamp)
  rmSync(previous, { recursive: true, force: true })
  if (existsSync(dist)) renameSync(dist, previous)
  renameSync(next, dist)
  rmSync(previous, { recursive: true, force: true })
}

function builtFrom(folder) {
  try {
    return readFileSync(join(folder, stampName), 'utf8')
  } catch {
    return undefined
  }
}

function fingerprint() {
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
