import type { Stats } from 'node:fs'
import type { PacketReader, PacketWriter } from './wire.ts'

/** What a client says that a file should be; what it leaves out stays. */
export interface Attributes {
  readonly size?: number
  readonly owner?: { readonly uid: number; readonly gid: number }
  readonly mode?: number
  /** Seconds since 1970. */
  readonly times?: { readonly accessed: number; readonly modified: number }
}

const flags = { size: 1, owner: 2, mode: 4, times: 8, extended: 0x8000_0000 }

export function readAttributes(packet: PacketReader): Attributes {
  const present = packet.uint32()
  const size = (present & flags.size) !== 0 ? { size: packet.uint64() } : {}
  const owner = (present & flags.owner) !== 0 ? { owner: { uid: packet.uint32(), gid: packet.uint32() } } : {}
  const mode = (present & flags.mode) !== 0 ? { mode: packet.uint32() & 0o7777 } : {}
  const times = (present & flags.times) !== 0 ? { times: { accessed: packet.uint32(), modified: packet.uint32() } } : {}
  return { ...size, ...owner, ...mode, ...times }
}

export function writeAttributes(packet: PacketWriter, info: Stats): PacketWriter {
  return packet
    .uint32(flags.size | flags.owner | flags.mode | flags.times)
    .uint64(info.size)
    .uint32(info.uid)
    .uint32(info.gid)
    .uint32(info.mode)
    .uint32(Math.max(0, Math.floor(info.atimeMs / 1000)))
    .uint32(Math.max(0, Math.floor(info.mtimeMs / 1000)))
}

/** The line that clients print for `ls -l`. */
export function longName(name: string, info: Stats, now: number): string {
  const columns = [
    modeText(info.mode),
    String(info.nlink).padStart(4),
    String(info.uid).padEnd(8),
    String(info.gid).padEnd(8),
    String(info.size).padStart(8),
    timeText(info.mtime, now),
  ]
  return `${columns.join(' ')} ${name}`
}

function modeText(mode: number): string {
  const kind = kinds[(mode >> 12) & 15] ?? '?'
  const bits = [6, 3, 0].map((shift) => {
    const three = (mode >> shift) & 7
    return `${(three & 4) !== 0 ? 'r' : '-'}${(three & 2) !== 0 ? 'w' : '-'}${(three & 1) !== 0 ? 'x' : '-'}`
  })
  return kind + bits.join('')
}

const kinds: Readonly<Record<number, string>> = { 1: 'p', 2: 'c', 4: 'd', 6: 'b', 8: '-', 10: 'l', 12: 's' }

function timeText(time: Date, now: number): string {
  const day = `${months[time.getUTCMonth()]} ${String(time.getUTCDate()).padStart(2)}`
  const isRecent = Math.abs(now - time.getTime()) < 182 * 24 * 3600 * 1000
  return isRecent ? `${day} ${time.toISOString().slice(11, 16)}` : `${day}  ${time.getUTCFullYear()}`
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
