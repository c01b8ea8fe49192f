import { readFileSync } from 'node:fs'

export interface NetworkUsage {
  readonly receivedBytes: number | null
  readonly sentBytes: number | null
}

const unknown: NetworkUsage = { receivedBytes: null, sentBytes: null }

/** What went over the networks of the container that this process is the first of. */
export function networkUsage(pid: number): NetworkUsage {
  try {
    return parseNetworks(readFileSync(`/proc/${pid}/net/dev`, 'latin1'))
  } catch {
    return unknown
  }
}

/** A line for each interface: its name, eight numbers of what came in and eight of what went out, bytes first. */
export function parseNetworks(text: string): NetworkUsage {
  const interfaces = text
    .split('\n')
    .map((line) => /^\s*(\S+):\s*(.+)$/.exec(line))
    .flatMap((match) => (match === null || match[1] === 'lo' ? [] : [match[2]!.split(/\s+/).map(Number)]))
  if (interfaces.length === 0) return unknown
  const sum = (at: number) => interfaces.reduce((total, numbers) => total + (numbers[at] ?? 0), 0)
  return { receivedBytes: sum(0), sentBytes: sum(8) }
}
