import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { EngineError, type Limits } from '@stackquay/engine-api'
import {
  type Controller,
  foldersIn,
  limiting,
  makeFolders,
  readText,
  removeEndedTrials,
  removeFolder,
  removeFolders,
  type Tree,
  type UnitPaths,
  unitPaths,
  usableTrees,
  write,
} from './control-group-trees.ts'
import { memoryKillsIn, refusedProcessesIn } from './group-events.ts'

/*
 * A tree of control groups, which only root changes: `stackquay-<instance>/<project>/<unit>`. What is started in a unit stays in it,
 * whatever it does with its environment, its session and its parent; so a unit finds and ends everything that was ever started in it.
 * Version 1 has a tree for each controller, version 2 one for all; both may be there, with the controllers in the first and
 * `cgroup.kill` in the second. The same folder is made in every tree that is used. Projects share the CPU evenly, however many
 * processes each of them has, because each is one group.
 */

export interface ControlGroups {
  /** A unit: `w-<workload>`, `j-<job>`, `c-<command>`. Nothing is made yet. */
  unit(project: string, name: string): ControlGroup
  /** Units of a project that are there. */
  units(project: string): readonly string[]
  /** Removes what is empty of a project, and the whole tree with the last. Nothing of it may be about to start. */
  tidy(project: string): void
  /** Units in which nothing lives. One that is about to be entered is among them. */
  empty(): readonly ControlGroup[]
  /** Whether memory, CPU and processes can be limited. */
  readonly limits: boolean
  /** Which of them cannot. */
  readonly missing: readonly string[]
}

export interface ControlGroup {
  readonly name: string
  /** Tells it from the units of other projects. */
  readonly id: string
  /** Folders to be entered, made with these limits. Throws `io_failed`. */
  make(limits: Limits | null): readonly string[]
  /** Living processes in it, as this process sees their numbers. */
  pids(): readonly number[]
  /** Ends everything in it, also what multiplies meanwhile. */
  kill(): void
  /** How often the kernel ended a program in it because of its memory. */
  outOfMemory(): number
  /** How often a process was not made in it because there were as many as there may be. */
  refusedProcesses(): number
  /** Where another process reads what `outOfMemory` answers; null where nothing counts it. */
  readonly memoryEvents: string | null
  /** Whether processes are counted and limited in it. */
  readonly countsProcesses: boolean
  /**
   * Gone when it is empty, and with the last one what is above it; one that is not empty stays: then false. A process whose first
   * thread has ended is no process any more, while others of its threads are still in the group for a moment.
   */
  remove(): boolean
}

/** Fork bombs end here also without a limit of their own. */
export const mostProcesses = 4096
const CPU_PERIOD = 100_000

/** Null where no tree can be written. */
export function openControlGroups(instance: string, mounts = readText('/proc/self/mountinfo')): ControlGroups | null {
  const base = `stackquay-${safe(instance)}`
  const trees = usableTrees(mounts, base)
  if (trees.length === 0) return null
  const missing = limiting.filter((controller) => !trees.some(({ controllers }) => controllers.includes(controller)))
  const projectIn = (tree: Tree, project: string) => join(tree.mount, base, safe(project))
  const tidy = (project: string) => {
    for (const tree of trees) {
      for (const name of foldersIn(projectIn(tree, project))) removeFolder(join(projectIn(tree, project), name))
      removeFolder(projectIn(tree, project))
      removeFolder(join(tree.mount, base))
    }
  }
  const unit = (project: string, name: string) =>
    controlGroup(trees, { name, id: `${project}/${name}` }, (tree) => unitPaths(tree, base, safe(project), safe(name)))
  const units = (project: string) => [...new Set(trees.flatMap((tree) => foldersIn(projectIn(tree, project))))]
  return {
    limits: missing.length === 0,
    missing,
    unit,
    units,
    tidy,
    empty() {
      for (const { mount } of trees) removeEndedTrials(join(mount, base))
      const projects = new Set(trees.flatMap(({ mount }) => foldersIn(join(mount, base))))
      return [...projects].filter(isSafe).flatMap((project) =>
        units(project)
          .filter(isSafe)
          .map((name) => unit(project, name))
          .filter((group) => group.pids().length === 0),
      )
    },
  }
}

/** Why an engine with these cannot limit, and what to do; null when it can. */
export function whyNoLimits(groups: ControlGroups | null): string | null {
  if (groups?.limits === true) return null
  const why =
    groups === null
      ? 'The service cannot make control groups on this machine.'
      : `The control groups of this machine lack ${groups.missing.join(' and ')}.`
  return `${why} Run the service as root where /sys/fs/cgroup can be written and hands down memory, cpu and pids, or let the project run in containers.`
}

function controlGroup(
  trees: readonly Tree[],
  named: Pick<ControlGroup, 'name' | 'id'>,
  pathsIn: (tree: Tree) => UnitPaths,
): ControlGroup {
  const groupIn = (tree: Tree) => pathsIn(tree)[2]
  const unified = trees.find(({ version }) => version === 2)
  const treeOf = (controller: Controller) => trees.find(({ controllers }) => controllers.includes(controller))
  const eventsOf = (controller: 'memory' | 'pids', names: Record<Tree['version'], string>) => {
    const tree = treeOf(controller)
    return tree === undefined ? null : join(groupIn(tree), names[tree.version])
  }
  const memoryEvents = eventsOf('memory', { 1: 'memory.oom_control', 2: 'memory.events' })
  const pidsEvents = eventsOf('pids', { 1: 'pids.events', 2: 'pids.events' })
  const pids = () => pidsIn(groupIn(unified ?? (trees[0] as Tree)))
  return {
    ...named,
    make(limits) {
      for (const tree of trees) makeUnit(tree, pathsIn(tree), limits)
      return trees.map(groupIn)
    },
    pids,
    kill() {
      liftCpuLimit(trees, groupIn)
      if (unified === undefined || !write(join(groupIn(unified), 'cgroup.kill'), '1')) killFrozen(trees, groupIn, pids)
    },
    outOfMemory: () => memoryKillsIn(memoryEvents),
    refusedProcesses: () => refusedProcessesIn(pidsEvents),
    memoryEvents,
    countsProcesses: pidsEvents !== null,
    remove() {
      for (const tree of trees) removeFolders(pathsIn(tree))
      return trees.every((tree) => !existsSync(pathsIn(tree)[2]))
    },
  }
}

const MOST_TRIES = 5

/** Removed by another process before its limits are written, it is made again. */
function makeUnit(tree: Tree, paths: UnitPaths, limits: Limits | null): void {
  for (let again = 1; ; again += 1) {
    try {
      makeFolders(tree, paths)
      weigh(tree, paths)
      limit(tree, paths[2], limits)
      return
    } catch (error) {
      const { code, path = paths[2] } = error as NodeJS.ErrnoException
      if ((code === 'ENOENT' || code === 'ENODEV') && again < MOST_TRIES) continue
      throw new EngineError('io_failed', `The control group ${path} cannot be set (${code ?? error}).`, {
        hint:
          code === 'EBUSY'
            ? 'What runs in it uses more than the new limit. Stop it, or choose a higher limit.'
            : 'See whether /sys/fs/cgroup can be written, then try again.',
        retryable: true,
        cause: error,
      })
    }
  }
}

/**
 * On version 1 each process outside of groups weighs as much as a whole group. All projects together weigh as four: else one that
 * keeps a processor busy makes the others wait behind the rest of the machine.
 */
function weigh({ version, controllers }: Tree, [base]: UnitPaths): void {
  if (version === 1 && controllers.includes('cpu')) write(join(base, 'cpu.shares'), String(4 * 1024))
}

/** Limits that are not set are taken away: the group may be there from an earlier run. */
function limit({ controllers, version }: Tree, path: string, limits: Limits | null): void {
  const { memoryBytes = null, cpus = null, pids = null } = limits ?? {}
  const quota = cpus === null ? null : Math.max(1000, Math.round(cpus * CPU_PERIOD))
  const set = (file: string, text: string) => writeFileSync(join(path, file), text)
  const trySet = (file: string, text: string) => write(join(path, file), text)
  if (controllers.includes('pids')) set('pids.max', String(pids ?? mostProcesses))
  if (controllers.includes('memory')) {
    // Without a limit of the swap a program that reaches its limit goes on there, slowly, at the cost of all others. A machine
    // without swap, or a kernel that does not count it, has no such file.
    if (version === 2) {
      set('memory.max', String(memoryBytes ?? 'max'))
      trySet('memory.swap.max', memoryBytes === null ? 'max' : '0')
    } else {
      // Memory and swap together are never less than memory: first the way is made free.
      trySet('memory.memsw.limit_in_bytes', '-1')
      set('memory.limit_in_bytes', String(memoryBytes ?? -1))
      if (memoryBytes !== null) trySet('memory.memsw.limit_in_bytes', String(memoryBytes))
    }
  }
  if (!controllers.includes('cpu')) return
  if (version === 2) set('cpu.max', `${quota ?? 'max'} ${CPU_PERIOD}`)
  else {
    trySet('cpu.cfs_period_us', String(CPU_PERIOD))
    set('cpu.cfs_quota_us', String(quota ?? -1))
  }
}

/** To end takes CPU too, and a group that used more than its share long gets none for seconds. */
function liftCpuLimit(trees: readonly Tree[], groupIn: (tree: Tree) => string): void {
  for (const tree of trees) {
    if (!tree.controllers.includes('cpu')) continue
    if (tree.version === 2) write(join(groupIn(tree), 'cpu.max'), `max ${CPU_PERIOD}`)
    else write(join(groupIn(tree), 'cpu.cfs_quota_us'), '-1')
  }
}

/** Where the kernel does not end a group at once: nothing in it runs or multiplies while its processes are sent their end. */
function killFrozen(trees: readonly Tree[], groupIn: (tree: Tree) => string, pids: () => readonly number[]): void {
  const freeze = (isFrozen: boolean) => {
    for (const tree of trees) {
      if (tree.version === 2) write(join(groupIn(tree), 'cgroup.freeze'), isFrozen ? '1' : '0')
      if (tree.controllers.includes('freezer'))
        write(join(groupIn(tree), 'freezer.state'), isFrozen ? 'FROZEN' : 'THAWED')
      if (tree.controllers.includes('pids') && isFrozen) write(join(groupIn(tree), 'pids.max'), '0')
    }
  }
  freeze(true)
  for (let round = 0; round < 3; round += 1) for (const pid of pids()) kill(pid)
  freeze(false)
}

function pidsIn(path: string): number[] {
  return readText(join(path, 'cgroup.procs'))
    .split('\n')
    .flatMap((line) => (line === '' || line === '0' ? [] : [Number(line)]))
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {}
}

/** Names of projects, workloads, jobs and commands become folders. One that begins with a dot leads elsewhere, or belongs to the service. */
function safe(name: string): string {
  if (isSafe(name)) return name
  throw new EngineError('engine_cannot', `${JSON.stringify(name)} cannot be the name of a control group.`, {
    hint: 'Use letters, digits, "-" and "_".',
  })
}

function isSafe(name: string): boolean {
  return /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,250}$/.test(name)
}
