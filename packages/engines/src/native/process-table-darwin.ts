import { spawnSync } from 'node:child_process'
import { basename } from 'node:path'
import { type Listener, type ProcessEntry, type ProcessTable, RUN_MARKER } from './process-table.ts'

/** The same answers from `ps` and `lsof`, where there is no /proc. Slower, and without input and output counters. */
export function darwinTable(): ProcessTable {
  return {
    bootId: () => output('sysctl', ['-n', 'kern.boottime']).trim(),
    find: (pid) => entries(['-p', String(pid)])[0] ?? null,
    list: () => entries(['-A']),
    marker: (pid) => markerIn(output('ps', ['-E', '-ww', '-o', 'command=', '-p', String(pid)])),
    ownedBy: (uids) =>
      lines(output('ps', ['-o', 'pid=', '-U', [...uids].join(',')])).map((line) => Number.parseInt(line.trim(), 10)),
    marked: (uids) =>
      lines(output('ps', ['-E', '-ww', '-o', 'pid=,command=', '-U', [...uids].join(',')])).flatMap((line) => {
        const marker = markerIn(line)
        return marker === null ? [] : [{ pid: Number.parseInt(line.trim(), 10), marker }]
      }),
    listeners,
    holding(pid, inodes) {
      const inode = [...inodes].find((one) => one.startsWith(`${pid}:`))
      return inode === undefined ? null : { pid, inode, path: String(pid) }
    },
    stillHolds: ({ pid }) => entries(['-p', String(pid)]).length > 0,
    program: (pid) => basename(output('ps', ['-o', 'comm=', '-p', String(pid)]).trim()) || null,
    usage: (pid) => ({
      memoryBytes: Number(output('ps', ['-o', 'rss=', '-p', String(pid)]).trim()) * 1024,
      readBytes: null,
      writtenBytes: null,
    }),
  }
}

function entries(selection: readonly string[]): ProcessEntry[] {
  const text = output('ps', ['-o', 'pid=,ppid=,pgid=,stat=,time=,lstart=', ...selection])
  return lines(text).flatMap((line) => {
    const [pid, parent, group, state, time, ...start] = line.trim().split(/\s+/)
    if (pid === undefined || state === undefined || time === undefined || start.length < 5) return []
    return {
      pid: Number(pid),
      parent: Number(parent),
      group: Number(group),
      session: Number(group),
      zombie: state.startsWith('Z'),
      startTime: start.join(' '),
      cpuSeconds: time.split(':').reduce((sum, part) => sum * 60 + Number(part), 0),
      childSeconds: 0,
    }
  })
}

/** `lsof` names no socket, so the owner's pid and the address stand for it. */
function listeners(port?: number): Listener[] {
  const text = output('lsof', ['-nP', port === undefined ? '-iTCP' : `-iTCP:${port}`, '-sTCP:LISTEN', '-Fpn'])
  const found: Listener[] = []
  let pid = ''
  for (const line of lines(text)) {
    if (line.startsWith('p')) pid = line.slice(1)
    if (!line.startsWith('n')) continue
    const colon = line.lastIndexOf(':')
    const host = line.slice(1, colon).replace(/^\[|\]$/g, '')
    found.push({
      address: host === '*' ? '0.0.0.0' : host,
      port: Number(line.slice(colon + 1)),
      inode: `${pid}:${line.slice(1)}`,
      uid: null,
    })
  }
  return found
}

function markerIn(text: string): string | null {
  return new RegExp(`(?:^|\\s)${RUN_MARKER}=(\\S+)`).exec(text)?.[1] ?? null
}

function output(program: string, args: readonly string[]): string {
  return spawnSync(program, args, { encoding: 'utf8', timeout: 5000 }).stdout ?? ''
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line.trim() !== '')
}
