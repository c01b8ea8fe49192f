import { readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import { join, relative } from 'node:path'
import { isDockerTest } from './docker-lab.mjs'
import { root } from './places.mjs'

/** Seconds that files took when last kept, by their paths. */
const kept = join(root, 'tools/run/test-seconds.json')
/** A file of which nothing is kept is new; the longest are the new ones as often as not. */
const secondsOfNew = 30
/** Shorter ones need no order. */
const leastKept = 5

/** Tests that hold a program to a time of seconds, or look at a page while the machine is under the load that they make. */
export const quiet = [
  'apps/server/test/changes',
  'apps/server/test/http-streams',
  'apps/server/test/spare-users',
  'e2e/deploy',
  'e2e/fuzz',
  'e2e/kill',
  'e2e/lifecycle',
  'e2e/page-services',
  'e2e/page-streams',
  'e2e/page.test',
  'e2e/restart-under-load',
  'e2e/sleep',
  'e2e/trust-bombs',
  'packages/engines/test/native-limits',
  'packages/engines/test/native-logs',
  'packages/store/test/access',
]

/**
 * Most tests wait for programs longer than they compute, so on few cores twice as many run at once as there are. What needs quiet comes
 * after. Docker daemons make and remove networks of this machine, over which browsers forget what they were loading: they come last.
 */
export function phasesOf(files, cores = os.cpus().length) {
  const seconds = read()
  const few = Math.max(2, cores - 1)
  const many = Math.max(few, Math.min(2 * cores, 8))
  const phases = [
    { name: 'most', concurrency: many, files: files.filter((file) => kindOf(file) === 'most') },
    { name: 'quiet', concurrency: few, files: files.filter((file) => kindOf(file) === 'quiet') },
    { name: 'docker', concurrency: few, files: files.filter((file) => kindOf(file) === 'docker') },
  ]
  return phases
    .filter((phase) => phase.files.length > 0)
    .map((phase) => ({ ...phase, files: longestFirst(phase.files, seconds) }))
}

function kindOf(file) {
  if (isDockerTest(file)) return 'docker'
  return quiet.some((start) => file.startsWith(start)) ? 'quiet' : 'most'
}

/** So that none that is long runs on alone in the end. */
function longestFirst(files, seconds) {
  const known = Object.keys(seconds).length > 0
  const of = (file) => seconds[file] ?? (known && isLong(file) ? secondsOfNew : 0)
  return [...files].sort((a, b) => of(b) - of(a))
}

const isLong = (file) => file.startsWith('e2e/')

export function keepSeconds(seconds) {
  const old = read()
  const named = Object.entries(seconds).map(([file, value]) => [relative(root, file), Math.round(value)])
  const all = { ...old, ...Object.fromEntries(named) }
  const worth = Object.entries(all)
    .filter(([, value]) => value >= leastKept)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  writeFileSync(kept, `${JSON.stringify(Object.fromEntries(worth), null, 2)}\n`)
}

function read() {
  try {
    return JSON.parse(readFileSync(kept, 'utf8'))
  } catch {
    return {}
  }
}
