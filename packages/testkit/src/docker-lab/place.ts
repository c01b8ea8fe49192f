import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * What one daemon has of this machine for itself: a folder, a bridge, a range of addresses, chains of the firewall and a
 * control group. All carry the same number, so that a later run sees what belongs together and clears it away.
 */
export interface Place {
  readonly number: number
  readonly folder: string
  readonly binFolder: string
  readonly bridge: string
  readonly prefix: string
  readonly cgroup: string
}

const lowest = 60
const highest = 219

/** Takes a place that is free. Places whose owner has ended without clearing up are cleared away first. */
export function takePlace(): Place {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) throw new Error(needsRoot)
  clearAbandoned()
  for (let number = lowest; number <= highest; number += 1) {
    const place = placeOf(number)
    if (existsSync(place.folder) || addressesTaken(place) || !claim(place)) continue
    prepare(place)
    return place
  }
  throw new Error(
    `All ${highest - lowest + 1} places for Docker daemons of tests are taken. See: ip link; ls ${tmpdir()}`,
  )
}

const needsRoot =
  'This test starts a Docker daemon of its own, which needs Linux and root. There: sudo npm test -- docker-  (it installs what it needs)'

function placeOf(number: number): Place {
  const folder = join(tmpdir(), `stq-lab-${number}`)
  return {
    number,
    folder,
    binFolder: join(folder, 'bin'),
    bridge: `stq-lab-${number}`,
    prefix: `10.${number}`,
    cgroup: `/stq-lab-${number}`,
  }
}

function addressesTaken({ prefix }: Place): boolean {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .some(({ address }) => address.startsWith(`${prefix}.`))
}

/** Making a folder succeeds for one process only. */
function claim({ folder }: Place): boolean {
  try {
    mkdirSync(folder, { mode: 0o711 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
  writeFileSync(join(folder, 'owner'), ownName())
  return true
}

function prepare({ bridge, prefix, binFolder, number }: Place): void {
  spawnSync('ip', ['link', 'delete', bridge], { stdio: 'ignore' })
  execFileSync('ip', ['link', 'add', bridge, 'type', 'bridge'])
  execFileSync('ip', ['address', 'add', `${prefix}.0.1/20`, 'dev', bridge])
  execFileSync('ip', ['link', 'set', bridge, 'up'])
  mkdirSync(binFolder)
  for (const program of ['iptables', 'ip6tables']) writeFirewall(binFolder, program, number)
}

/**
 * As it starts, a daemon deletes the chains DOCKER, DOCKER-USER and so on that it finds, another daemon's too: published
 * ports and the isolation of that one's networks end. So every daemon calls its chains by names of its own.
 */
function writeFirewall(binFolder: string, program: string, number: number): void {
  const real = (process.env.PATH ?? '')
    .split(':')
    .map((folder) => join(folder, program))
    .find((path) => existsSync(path))
  if (real === undefined) return
  const script = `#!/bin/bash\nexec ${real} "\${@/#DOCKER/${chainPrefix(number)}}"\n`
  const file = join(binFolder, program)
  writeFileSync(file, script)
  chmodSync(file, 0o755)
}

const chainPrefix = (number: number) => `STQLAB${number}`

/** Ends and removes everything of a place, by SIGKILL. Fine when there is nothing. Nothing of it waits for a daemon. */
export function clearPlace(place: Place): void {
  endProcesses(place.folder)
  unmountAll(place.folder)
  const bridges = bridgesOf(place)
  removeRules(place, bridges)
  for (const bridge of bridges) spawnSync('ip', ['link', 'delete', bridge], { stdio: 'ignore' })
  removeCgroups(place.cgroup)
  rmSync(place.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
}

/** Ends and removes what processes left behind that could not clear up, such as tests that were interrupted. */
export function clearAbandoned(): void {
  for (const name of readdirSync(tmpdir())) {
    const number = /^stq-lab-(\d+)$/.exec(name)?.[1]
    if (number === undefined) continue
    const place = placeOf(Number(number))
    if (takeOver(place)) clearPlace(place)
  }
}

/** Of several who find the owner gone only one gets the place. A folder just made may not have its owner yet: it counts as owned. */
function takeOver({ folder }: Place): boolean {
  const owner = join(folder, 'owner')
  const seen = readText(owner)
  const [pid, start] = seen.split(' ')
  if (seen === '' || startOf(Number(pid)) === start) return false
  const taken = `${owner}.${process.pid}`
  try {
    renameSync(owner, taken)
    if (readText(taken) === seen) {
      writeFileSync(owner, ownName())
      return true
    }
    // Another run was quicker.
    renameSync(taken, owner)
  } catch {
    // The same, or it is gone already.
  }
  return false
}

const ownName = () => `${process.pid} ${startOf(process.pid)}`

/** When a process began, in the kernel's ticks: with the pid it names one process for ever. Empty when there is none. */
function startOf(pid: number): string {
  const stat = readText(`/proc/${pid}/stat`)
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
}

/** The daemon, its containerd and its shims name the folder in their arguments; containers are children of the shims. */
function endProcesses(folder: string): void {
  for (let round = 0; round < 100; round += 1) {
    const pids = pidsOf(folder)
    if (pids.length === 0) return
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It ended in between.
      }
    }
    sleepSync(20)
  }
}

function pidsOf(folder: string): readonly number[] {
  const processes = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .map((pid) => ({ pid, ...stateOf(pid), command: readText(`/proc/${pid}/cmdline`).replaceAll('\0', ' ') }))
    .filter(({ state }) => state !== 'Z' && state !== '')
  const named = processes.filter(({ command }) => programsOfDocker.test(command) && command.includes(`${folder}/`))
  const shims = new Set(named.filter(({ command }) => command.includes('containerd-shim')).map(({ pid }) => pid))
  const below = processes.filter(({ parent }) => shims.has(parent))
  // Containers first: without its shim a container has no parent that we would know.
  return [...below, ...named].map(({ pid }) => pid)
}

const programsOfDocker = /dockerd|containerd|runc|docker-proxy|docker-init/

function stateOf(pid: number): { readonly state: string; readonly parent: number } {
  const stat = readText(`/proc/${pid}/stat`)
  const [state = '', parent = '0'] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { state, parent: Number(parent) }
}

/** A daemon mounts its data-root onto itself, and layers below it; killed, it leaves both. */
export function unmountAll(folder: string): void {
  const points = readText('/proc/self/mountinfo')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((point) => point === folder || point.startsWith(`${folder}/`))
  for (const point of points.reverse()) spawnSync('umount', ['--lazy', point], { stdio: 'ignore' })
}

function bridgesOf({ prefix, bridge }: Place): readonly string[] {
  const listed = spawnSync('ip', ['-o', '-4', 'address'], { encoding: 'utf8' }).stdout
  const withAddress = listed
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((words) => words[3]?.startsWith(`${prefix}.`))
    .map((words) => words[1]!)
  return [...new Set([bridge, ...withAddress])].filter((name) => existsSync(`/sys/class/net/${name}/bridge`))
}

/** Rules go first, then the chains, which must be empty and unreferenced. */
function removeRules(place: Place, bridges: readonly string[]): void {
  const chain = chainPrefix(place.number)
  const address = new RegExp(`(^|\\s)${place.prefix.replace('.', '\\.')}\\.\\d`)
  const isOurs = (rule: string) =>
    rule.includes(`${chain}`) || address.test(rule) || bridges.some((bridge) => rule.split(' ').includes(bridge))
  for (const program of ['iptables', 'ip6tables'])
    for (const table of ['nat', 'filter']) {
      const firewall = (...args: readonly string[]) =>
        spawnSync(program, ['--wait', '-t', table, ...args], { encoding: 'utf8' }).stdout ?? ''
      const rules = firewall('-S').split('\n')
      for (const rule of rules)
        if (rule.startsWith('-A ') && isOurs(rule)) firewall('-D', ...rule.slice(3).trim().split(/\s+/))
      const chains = rules.filter((rule) => rule.startsWith(`-N ${chain}`)).map((rule) => rule.slice(3).trim())
      for (const name of chains) firewall('-F', name)
      for (const name of chains) firewall('-X', name)
    }
}

/** One hierarchy per controller, or one for all. */
function removeCgroups(cgroup: string): void {
  const roots = ['/sys/fs/cgroup', ...namesIn('/sys/fs/cgroup').map((name) => join('/sys/fs/cgroup', name))]
  for (const root of roots) removeCgroup(join(root, cgroup))
}

function removeCgroup(folder: string): void {
  if (!existsSync(folder)) return
  for (const name of namesIn(folder)) removeCgroup(join(folder, name))
  // The kernel takes a moment to see that the last process is gone.
  for (let round = 0; round < 50; round += 1) {
    try {
      rmdirSync(folder)
      return
    } catch {
      sleepSync(10)
    }
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
  } catch {
    return []
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function sleepSync(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
