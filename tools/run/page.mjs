import { spawnSync } from 'node:child_process'
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ensureBuilt } from './built.mjs'
import { childEnv, modules, node, root } from './places.mjs'
import { Refusal } from './refusal.mjs'

const web = join(root, 'apps/web')
const dist = join(web, 'dist')
const stampName = '.built-from'

/** What the page is made of. */
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

export function ensurePage() {
  return ensureBuilt({ name: 'page', stampFile: join(dist, stampName), sources }, build)
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
