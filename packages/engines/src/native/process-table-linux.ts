import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import {
  type Holding,
  type Listener,
  type ProcessEntry,
  type ProcessTable,
  RUN_MARKER,
  type Usage,
} from './process-table.ts'

/** Ticks per second in /proc: fixed by the kernel's ABI towards user space. */
const TICKS = 100

/** Reads /proc directly. Reads are synchronous: each takes microseconds, and a list is one consistent moment. */
export function linuxTable(): ProcessTable {
  let boot: string | undefined
  return {
    bootId: () => {
      boot ??= read('/proc/sys/kernel/random/boot_id')?.trim() ?? 'unknown'
      return boot
    },
    find,
    list: () => pids().flatMap((pid) => find(pid) ?? []),
    marker,
    ownedBy: (uids) => pids().filter((pid) => uids.has(uidOf(pid) ?? -1)),
    marked: (uids) => pids().flatMap((pid) => (uids.has(uidOf(pid) ?? -1) ? withMarker(pid) : [])),
    listeners,
    holding,
    stillHolds: ({ path, inode }) => link(path) === `socket:[${inode}]`,
    program,
    usage,
  }
}

/** The command name in field 2 may hold spaces and parentheses; the last `)` ends it. */
export function parseStat(text: string): ProcessEntry | null {
  const end = text.lastIndexOf(')')
  const fields = text.slice(end + 2).split(' ')
  const pid = Number.parseInt(text, 10)
  const startTime = fields[19]
  if (end < 0 || startTime === undefined || !Number.isInteger(pid)) return null
  return {
    pid,
    zombie: fields[0] === 'Z' || fields[0] === 'X',
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS,
    childSeconds: (Number(fields[13]) + Number(fields[14])) / TICKS,
    startTime,
  }
}

function find(pid: number): ProcessEntry | null {
  const text = read(`/proc/${pid}/stat`)
  return text === null ? null : parseStat(text)
}

function pids(): number[] {
  const found: number[] = []
  for (const name of readdirSync('/proc')) {
    const first = name.charCodeAt(0)
    if (first >= 48 && first <= 57) found.push(Number(name))
  }
  return found
}

function marker(pid: number): string | null {
  const text = read(`/proc/${pid}/environ`)
  if (text === null) return null
  const name = `${RUN_MARKER}=`
  const at = text.startsWith(name) ? 0 : text.indexOf(`\0${name}`) + 1
  if (at === 0 && !text.startsWith(name)) return null
  const end = text.indexOf('\0', at)
  return text.slice(at + name.length, end < 0 ? undefined : end)
}

function withMarker(pid: number): { pid: number; marker: string }[] {
  const found = marker(pid)
  return found === null ? [] : [{ pid, marker: found }]
}

function uidOf(pid: number): number | null {
  return statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid ?? null
}

function listeners(port?: number): Listener[] {
  return [...listenersIn('/proc/net/tcp', port), ...listenersIn('/proc/net/tcp6', port)]
}

const LISTEN = '0A'

/** Of one of the kernel's files, which may be that of another network namespace. */
export function listenersIn(file: string, port?: number): Listener[] {
  const text = read(file)
  if (text === null) return []
  const wanted = port === undefined ? null : `:${port.toString(16).toUpperCase().padStart(4, '0')} `
  const found: Listener[] = []
  for (const line of text.split('\n')) {
    if (wanted !== null && !line.includes(wanted)) continue
    const [, local, , state, , , , uid, , inode] = line.trim().split(/\s+/)
    if (local === undefined || state !== LISTEN || inode === undefined) continue
    const [address = '', hexPort = ''] = local.split(':')
    const listens = Number.parseInt(hexPort, 16)
    if (port === undefined || listens === port)
      found.push({ address: addressOf(address), port: listens, inode, uid: Number(uid) })
  }
  return found
}

/** The kernel prints addresses as 32-bit words in the machine's byte order. */
function addressOf(hex: string): string {
  const bytes = Buffer.from(hex, 'hex')
  for (let at = 0; at < bytes.length; at += 4) bytes.subarray(at, at + 4).reverse()
  if (bytes.length === 4) return bytes.join('.')
  if (bytes.every((byte) => byte === 0)) return '::'
  if (bytes.subarray(0, 15).every((byte) => byte === 0) && bytes[15] === 1) return '::1'
  if (bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff) return bytes.subarray(12).join('.')
  return (bytes.toString('hex').match(/.{4}/g) ?? []).join(':')
}

function holding(pid: number, inodes: ReadonlySet<string>): Holding | null {
  let names: string[]
  try {
    names = readdirSync(`/proc/${pid}/fd`)
  } catch {
    return null
  }
  for (const name of names) {
    const path = `/proc/${pid}/fd/${name}`
    const inode = link(path)?.match(/^socket:\[(\d+)\]$/)?.[1]
    if (inode !== undefined && inodes.has(inode)) return { pid, inode, path }
  }
  return null
}

function program(pid: number): string | null {
  const file = link(`/proc/${pid}/exe`)
  if (file !== null) return basename(file.replace(/ \(deleted\)$/, ''))
  return read(`/proc/${pid}/comm`)?.trim() ?? null
}

function usage(pid: number): Usage {
  const proportional = /^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`) ?? '')?.[1]
  const resident = proportional ?? /^VmRSS:\s+(\d+)/m.exec(read(`/proc/${pid}/status`) ?? '')?.[1]
  const io = read(`/proc/${pid}/io`)
  return {
    memoryBytes: Number(resident ?? 0) * 1024,
    readBytes: number(/^read_bytes: (\d+)/m.exec(io ?? '')?.[1]),
    writtenBytes: number(/^write_bytes: (\d+)/m.exec(io ?? '')?.[1]),
  }
}

function number(text: string | undefined): number | null {
  return text === undefined ? null : Number(text)
}

/** Processes end while one looks at them: whatever cannot be read is simply not there. */
function read(path: string): string | null {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return null
  }
}

function link(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch {
    return null
  }
}
