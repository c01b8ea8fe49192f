import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmdirSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'

/*
 * What a service has on the machine beside its home: users, control groups, processes. All of it carries the name of the instance,
 * so that a test finds it without asking the service.
 */

const execute = promisify(execFile)

export const instanceOf = (home: string): string => createHash('sha256').update(home).digest('hex').slice(0, 12)

export interface MachineUser {
  readonly name: string
  readonly uid: number
}

/** System users that this service made. */
export async function usersOf(home: string): Promise<readonly MachineUser[]> {
  const prefix = `s${instanceOf(home).slice(0, 6)}-`
  return (await passwd()).filter(({ name }) => name.startsWith(prefix))
}

export async function passwd(): Promise<readonly (MachineUser & { readonly line: string })[]> {
  return (await readFile('/etc/passwd', 'utf8')).split('\n').flatMap((line) => {
    const [name, , uid] = line.split(':')
    return name === undefined || uid === undefined ? [] : [{ name, uid: Number(uid), line }]
  })
}

/** Folders of its control groups, the deepest first. */
export function groupsOf(home: string): readonly string[] {
  return groupMounts()
    .flatMap((mount) => foldersBelow(join(mount, `stackquay-${instanceOf(home)}`)))
    .sort((a, b) => b.length - a.length)
}

function groupMounts(): readonly string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap((line) => (/ - cgroup2? /.test(line) ? [line.split(' ')[4]!] : []))
}

function foldersBelow(path: string): string[] {
  try {
    const children = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    return [path, ...children.flatMap(({ name }) => foldersBelow(join(path, name)))]
  } catch {
    return []
  }
}

export interface MachineProcess {
  readonly pid: number
  readonly uid: number
  readonly parent: number
  readonly command: string
}

/** Every living process but those that have ended and wait to be collected. */
export function processes(): readonly MachineProcess[] {
  return readdirSync('/proc').flatMap((name): MachineProcess[] => {
    if (!/^\d+$/.test(name)) return []
    try {
      const { uid } = statSync(`/proc/${name}`)
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      if (state === 'Z') return []
      const command = readFileSync(`/proc/${name}/cmdline`, 'latin1').replaceAll('\0', ' ').trim()
      return [{ pid: Number(name), uid, parent: Number(parent), command }]
    } catch {
      return []
    }
  })
}

export const processesOf = (uid: number): readonly MachineProcess[] => processes().filter((entry) => entry.uid === uid)

/** Of one project, by the control groups that they are in. */
export function processesInGroups(home: string, project: string): readonly MachineProcess[] {
  return processes().filter(({ pid }) =>
    readQuietly(`/proc/${pid}/cgroup`).includes(`/stackquay-${instanceOf(home)}/${project}/`),
  )
}

/** Of one service, in units whose names are such: `w-…`, `j-…`, `c-…` (commands), `h-…` (what holds commands). */
export function processesInUnits(home: string, unit: RegExp): readonly MachineProcess[] {
  return processes().filter(({ pid }) => {
    const path = new RegExp(`/stackquay-${instanceOf(home)}/[^/]+/([^/\\n]+)`).exec(readQuietly(`/proc/${pid}/cgroup`))
    return path !== null && unit.test(path[1]!)
  })
}

function readQuietly(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

/** Takes away what a service left: for tests that end, however they ended. Answers what there was. */
export async function sweep(home: string): Promise<readonly string[]> {
  if (process.getuid?.() !== 0) return []
  const found: string[] = []
  for (const { name, uid } of await usersOf(home)) {
    found.push(`user ${name}`)
    for (let round = 0; round < 50 && processesOf(uid).length > 0; round += 1) {
      for (const { pid } of processesOf(uid)) kill(pid)
      await delay(20)
    }
    await removeUser(name)
  }
  for (const argv of wallsOf(home)) await execute(argv[0]!, argv.slice(1)).catch(() => undefined)
  for (const path of groupsOf(home)) {
    found.push(`control group ${path}`)
    for (let round = 0; round < 50 && !removed(path); round += 1) {
      for (const pid of readQuietly(join(path, 'cgroup.procs')).split('\n')) if (Number(pid) > 0) kill(Number(pid))
      await delay(20)
    }
  }
  return found
}

/** Other tests hold the lock of the machine's users for a moment each. */
async function removeUser(name: string): Promise<void> {
  for (let round = 0; round < 100; round += 1) {
    const code = await execute('userdel', ['-f', name]).then(
      () => 0,
      (error: { readonly code?: number }) => error.code,
    )
    if (code !== 1 && code !== 10) return
    await delay(50)
  }
}

/** Walls around ports, which outlive a service as its projects do. */
function wallsOf(home: string): readonly (readonly string[])[] {
  return [['nft', 'delete', 'table', 'inet', `stackquay_${instanceOf(home)}`]]
}

function removed(path: string): boolean {
  try {
    rmdirSync(path)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {}
}

/** What the level of a service gives, as it wrote it down: `user`, `cgroup`, `ports`, `sandbox`. */
export function featuresOf(home: string): readonly string[] {
  const database = new DatabaseSync(join(home, 'stackquay.db'), { readOnly: true })
  try {
    const row = database.prepare('select value from settings where name = ?').get('isolation') as { value: string }
    return (JSON.parse(row.value) as { features: string[] }).features
  } finally {
    database.close()
  }
}
