import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where groups are folders: one tree for everything in version 2, one for each controller in version 1. */
export interface Tree {
  /** Where it is mounted. */
  readonly mount: string
  readonly version: 1 | 2
  readonly controllers: readonly Controller[]
}

/** Those of the limits. */
export const limiting = ['memory', 'cpu', 'pids'] as const
export type Controller = (typeof limiting)[number] | 'freezer'

/** The kernel's numbers of the two file systems: whatever else is mounted over such a folder would take any file. */
const MAGIC = { 1: 0x27_e0_eb, 2: 0x63_67_72_70 } as const

/** The controllers that are used; a kernel may be built without one. */
const FILES = {
  1: { memory: 'memory.limit_in_bytes', cpu: 'cpu.cfs_quota_us', pids: 'pids.max', freezer: 'freezer.state' },
  2: { memory: 'memory.max', cpu: 'cpu.max', pids: 'pids.max', freezer: 'cgroup.freeze' },
} as const

/** Trees in which this process can make groups and put programs into them. Found by doing it, not by looking. */
export function usableTrees(mountinfo: string, base: string): readonly Tree[] {
  const trees = treesIn(mountinfo)
  // A tree that lacks `cgroup.kill` needs another way to stop what multiplies.
  const needed = trees.some(({ version, mount }) => version === 2 && hasKill(mount))
    ? trees.filter(({ controllers }) => !controllers.includes('freezer'))
    : trees
  return tried(needed, base)
}

/** Of several mounts of the same tree the first counts. */
function treesIn(mountinfo: string): Tree[] {
  const known = new Set<string>()
  return mountinfo.split('\n').flatMap((line): Tree[] => {
    const [before = '', after = ''] = line.split(' - ')
    const [, , device = '', , mount] = before.split(' ')
    const [type, , options = ''] = after.split(' ')
    if (mount === undefined || mount.includes('\\') || (type !== 'cgroup' && type !== 'cgroup2')) return []
    const version = type === 'cgroup2' ? 2 : 1
    if (known.has(`${type} ${device}`) || !isMounted(mount, version)) return []
    known.add(`${type} ${device}`)
    if (version === 2) return [{ mount, version, controllers: controllersOf(mount) }]
    const named = options.split(',')
    const controllers = ([...limiting, 'freezer'] as const).filter((controller) => named.includes(controller))
    return controllers.length === 0 ? [] : [{ mount, version, controllers }]
  })
}

function isMounted(mount: string, version: Tree['version']): boolean {
  try {
    return statfsSync(mount).type === MAGIC[version]
  } catch {
    return false
  }
}

/**
 * Version 2 hands a controller down only where it was asked to. It refuses where the topmost folder that is seen here holds processes
 * and is not the machine's own, as in a container: then there are groups, and no limits.
 */
function controllersOf(mount: string): readonly Controller[] {
  handDown(mount, limiting)
  const handed = wordsIn(join(mount, 'cgroup.subtree_control'))
  return limiting.filter((controller) => handed.includes(controller))
}

/** Lets the groups below that folder use the controllers, as far as it can. */
export function handDown(path: string, controllers: readonly Controller[]): void {
  const there = wordsIn(join(path, 'cgroup.controllers'))
  const handed = wordsIn(join(path, 'cgroup.subtree_control'))
  for (const controller of controllers) {
    if (there.includes(controller) && !handed.includes(controller))
      write(join(path, 'cgroup.subtree_control'), `+${controller}`)
  }
}

/** The topmost group has no such file. */
function hasKill(mount: string): boolean {
  const path = join(mount, `.stackquay-kill-${process.pid}`)
  try {
    mkdirSync(path)
    return existsSync(join(path, 'cgroup.kill'))
  } catch {
    return false
  } finally {
    removeFolder(path)
  }
}

const ENTER = 'for path; do if (echo 0 > "$path/cgroup.procs") 2>/dev/null; then echo y; else echo n; fi; done'

/** Makes a unit as it will be made, and lets a program enter it. */
function tried(trees: readonly Tree[], base: string): readonly Tree[] {
  const name = `.trial-${process.pid}-${Math.random().toString(36).slice(2)}`
  const made = trees.flatMap((tree) => {
    const paths = unitPaths(tree, base, name, 'unit')
    try {
      makeFolders(tree, paths)
      const controllers = tree.controllers.filter((one) => existsSync(join(paths[2], FILES[tree.version][one])))
      return [{ tree: { ...tree, controllers }, paths }]
    } catch {
      removeFolders(paths)
      return []
    }
  })
  if (made.length === 0) return []
  const folders = made.map(({ paths }) => paths[2])
  const { stdout } = spawnSync('/bin/sh', ['-c', ENTER, 'stackquay', ...folders], { env: {}, timeout: 5000 })
  const answers = String(stdout ?? '').split('\n')
  for (const { paths } of made) removeFolders(paths)
  return made.flatMap(({ tree }, at) => {
    const isUsed = tree.version === 2 || tree.controllers.length > 0
    return answers[at] === 'y' && isUsed ? [tree] : []
  })
}

/** Those of a process that was killed meanwhile. */
export function removeEndedTrials(base: string): void {
  for (const name of foldersIn(base)) {
    const owner = /^\.trial-(\d+)-/.exec(name)?.[1]
    if (owner === undefined || existsSync(`/proc/${owner}`)) continue
    removeFolders([base, join(base, name), join(base, name, 'unit')])
  }
}

export type UnitPaths = readonly [base: string, project: string, unit: string]

export function unitPaths(tree: Tree, base: string, project: string, unit: string): UnitPaths {
  const top = join(tree.mount, base)
  return [top, join(top, project), join(top, project, unit)]
}

const MOST_TRIES = 20

/** Another process may remove the empty ones between any two of these: then they are made again. */
export function makeFolders(tree: Tree, paths: UnitPaths): void {
  for (let again = 1; ; again += 1) {
    try {
      for (const path of paths) {
        makeFolder(path)
        // A unit holds processes and hands nothing down; what is above it holds none.
        if (tree.version === 2) handDown(join(path, '..'), tree.controllers)
      }
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || again === MOST_TRIES) throw error
    }
  }
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** A group that holds anything stays, and with it all above. */
export function removeFolders([base, project, unit]: UnitPaths): void {
  for (const path of [unit, project, base]) removeFolder(path)
}

/** Groups are removed as folders are; the files in them are the kernel's. */
export function removeFolder(path: string): void {
  try {
    rmdirSync(path)
  } catch {}
}

export function foldersIn(path: string): string[] {
  try {
    return readdirSync(path, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
  } catch {
    return []
  }
}

export function write(path: string, text: string): boolean {
  try {
    writeFileSync(path, text)
    return true
  } catch {
    return false
  }
}

function wordsIn(path: string): string[] {
  return readText(path).split(/\s+/)
}

export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
