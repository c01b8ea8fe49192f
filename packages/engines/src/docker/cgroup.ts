import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface ContainerUsage {
  readonly cpuSeconds: number
  /** Without what the kernel would give back: files that it keeps because there is room. */
  readonly memoryBytes: number
  readonly processes: number
  readonly readBytes: number | null
  readonly writtenBytes: number | null
}

export interface CgroupFiles {
  /** Of `/proc/<pid>/cgroup`. */
  readonly groups: string
  read(path: string): string | null
}

const ROOT = '/sys/fs/cgroup'

/** Measures one container, from files alone. Null when its control groups are gone: it has ended. */
export type Meter = () => ContainerUsage | null

/**
 * Finds the files that say what a container uses: microseconds, where asking Docker takes a second. Its control groups are
 * named after it, so that they mean this container for as long as they are there, whatever becomes of the process. Null
 * where that process is another one from here, or the files are not there.
 */
export function meterOf(pid: number, container: string): Meter | null {
  const groups = pid > 0 ? read(`/proc/${pid}/cgroup`) : null
  return groups?.includes(container) ? meterIn({ groups: ownGroups(groups, container), read }) : null
}

/** A container that divides its group among its processes counts as a whole. */
function ownGroups(groups: string, container: string): string {
  const lines = groups.split('\n').map((line) => {
    const at = line.indexOf(container)
    const end = at < 0 ? -1 : line.indexOf('/', at)
    return end < 0 ? line : line.slice(0, end)
  })
  return lines.join('\n')
}

/** Knows both versions (cgroup-v1/ and cgroup-v2.rst in the kernel's documentation). */
export function meterIn({ groups, read: readFile }: CgroupFiles): Meter | null {
  const lines = groups
    .trim()
    .split('\n')
    .map((line) => line.split(':'))
  const unified = lines.find(([number]) => number === '0')
  const path = (controller: string) => {
    const line = lines.find(([, names]) => names?.split(',').includes(controller))
    return line === undefined ? null : join(ROOT, controller, line.slice(2).join(':'))
  }
  const meters = [
    ...(unified === undefined ? [] : [meterV2(join(ROOT, unified.slice(2).join(':')), readFile)]),
    meterV1(path, readFile),
  ]
  return meters.find((meter) => meter() !== null) ?? null
}

function meterV2(group: string, readFile: CgroupFiles['read']): Meter {
  return () => {
    const cpu = field(readFile(`${group}/cpu.stat`), 'usage_usec')
    const memory = cpu === null ? null : number(readFile(`${group}/memory.current`))
    if (cpu === null || memory === null) return null
    const inactive = field(readFile(`${group}/memory.stat`), 'inactive_file') ?? 0
    const io = readFile(`${group}/io.stat`)
    return {
      cpuSeconds: cpu / 1e6,
      memoryBytes: Math.max(0, memory - inactive),
      processes: number(readFile(`${group}/pids.current`)) ?? 0,
      readBytes: total(io, /\brbytes=(\d+)/g),
      writtenBytes: total(io, /\bwbytes=(\d+)/g),
    }
  }
}

function meterV1(path: (controller: string) => string | null, readFile: CgroupFiles['read']): Meter {
  const file = (controller: string, name: string) => {
    const group = path(controller)
    return () => (group === null ? null : readFile(join(group, name)))
  }
  const spent = file('cpuacct', 'cpuacct.usage')
  const used = file('memory', 'memory.usage_in_bytes')
  const parts = file('memory', 'memory.stat')
  const pids = file('pids', 'pids.current')
  const blocks = file('blkio', 'blkio.throttle.io_service_bytes')
  return () => {
    const cpu = number(spent())
    const memory = cpu === null ? null : number(used())
    if (cpu === null || memory === null) return null
    const io = blocks()
    return {
      cpuSeconds: cpu / 1e9,
      memoryBytes: Math.max(0, memory - (field(parts(), 'total_inactive_file') ?? 0)),
      processes: number(pids()) ?? 0,
      readBytes: total(io, /^\S+ Read (\d+)$/gm),
      writtenBytes: total(io, /^\S+ Write (\d+)$/gm),
    }
  }
}

/** Of `name value` in lines. */
function field(text: string | null, name: string): number | null {
  if (text === null) return null
  const at = text.startsWith(`${name} `) ? 0 : text.indexOf(`\n${name} `) + 1
  return at === 0 && !text.startsWith(`${name} `) ? null : number(text.slice(at + name.length + 1))
}

function total(text: string | null, each: RegExp): number | null {
  return text === null ? null : text.matchAll(each).reduce((sum, [, value]) => sum + Number(value), 0)
}

function number(text: string | null): number | null {
  const value = Number.parseInt(text ?? '', 10)
  return Number.isNaN(value) ? null : value
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}
