import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ensureBuilt } from './built.mjs'
import { childEnv, node, root } from './places.mjs'
import { Refusal } from './refusal.mjs'

const dist = join(root, 'apps/server/dist')
const stampFile = join(dist, '.built-from')

/** What runs as the service. It stays where it is, and leads to the newest build. */
export const serviceProgram = join(dist, 'main.js')

/** What the service is made of: the packages that it imports, and this. */
const sources = [
  'apps/server/src',
  'apps/proxy/src',
  ...[
    'archive',
    'catalog',
    'client',
    'contract',
    'domain',
    'engine-api',
    'engines',
    'mcp',
    'orchestrator',
    'store',
    'targets',
  ].map((name) => `packages/${name}/src`),
  'package-lock.json',
  'tools/run/bundle-service.mjs',
]

/** Builds that a service may still run from, and load from what it has not needed yet. */
const keptBuilds = 4

export function ensureService() {
  return ensureBuilt({ name: 'service', stampFile, sources }, build)
}

/**
 * Each build has a folder of its own, so one that runs finds its files whatever is built beside it. A file that is replaced by a rename
 * leads to the newest.
 */
function build(stamp) {
  const name = stamp.slice(0, 12)
  const folder = join(dist, name)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(dist, { recursive: true })
  const args = [join(root, 'tools/run/bundle-service.mjs'), folder]
  const { status, error } = spawnSync(node, args, { cwd: root, env: childEnv(), stdio: ['ignore', 2, 2] })
  if (error !== undefined) throw error
  if (status !== 0) throw new Refusal('The service could not be built; the message is above.')
  put(serviceProgram, `import './${name}/main.js'\n`)
  put(stampFile, stamp)
  removeOld(name)
}

function put(file, text) {
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, text)
  renameSync(draft, file)
}

function removeOld(current) {
  const others = readdirSync(dist, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== current)
    .map(({ name }) => ({ folder: join(dist, name), time: statSync(join(dist, name)).mtimeMs }))
    .sort((a, b) => b.time - a.time)
  for (const { folder } of others.slice(keptBuilds - 1)) rmSync(folder, { recursive: true, force: true })
}
