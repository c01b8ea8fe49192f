import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { Server } from 'node:net'
import { endianness } from 'node:os'
import type { ListenAddress } from './listen-address.ts'

/**
 * The sockets that listen at an address, as the kernel names them (`socket:[inode]`); empty where it does not say. Root may
 * share a port with itself by SO_REUSEPORT, so a second service would not be refused by the kernel. It is refused by this.
 */
export function listenersAt({ host, port }: ListenAddress): readonly string[] {
  const families = host.includes(':') ? (['tcp6'] as const) : (['tcp'] as const)
  return families.flatMap((family) => {
    const own = hexAddress(host, port)
    const any = hexAddress(family === 'tcp' ? '0.0.0.0' : '::', port)
    return listening(family).flatMap(({ local, inode }) =>
      local === own || local === any || (own === any && local.endsWith(any.slice(-5))) ? [`socket:[${inode}]`] : [],
    )
  })
}

/** The same name of a server of this process; null where the kernel does not say. */
export function socketNameOf(server: Server): string | null {
  try {
    return readlinkSync(`/proc/self/fd/${descriptorOf(server)}`)
  } catch {
    return null
  }
}

/** By the same names, all that this process has open, whatever listens where. */
export function socketsOfThisProcess(): ReadonlySet<string> {
  const names = new Set<string>()
  for (const fd of readdirSync('/proc/self/fd')) {
    try {
      names.add(readlinkSync(`/proc/self/fd/${fd}`))
    } catch {
      // Closed meanwhile: the descriptor by which the folder was read.
    }
  }
  return names
}

/** The descriptor of a listening server, to be handed to another process. */
export function descriptorOf(server: Server): number {
  const { fd } = (server as unknown as { readonly _handle: { readonly fd: number } })._handle
  return fd
}

/** Columns of proc_pid_net(5): `sl local_address rem_address st … inode`; state 0A is LISTEN. */
function listening(family: 'tcp' | 'tcp6'): readonly { readonly local: string; readonly inode: string }[] {
  let text = ''
  try {
    text = readFileSync(`/proc/net/${family}`, 'utf8')
  } catch {
    // No such system: there the kernel refuses by itself.
  }
  return text
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((columns) => columns[3] === '0A')
    .map((columns) => ({ local: columns[1] ?? '', inode: columns[9] ?? '' }))
}

/** As /proc/net writes it: groups of four bytes, each in the byte order of the machine. */
function hexAddress(host: string, port: number): string {
  const bytes = addressBytes(host)
  let text = ''
  for (let at = 0; at < bytes.length; at += 4) {
    const group = bytes.slice(at, at + 4)
    text += (endianness() === 'LE' ? group.reverse() : group).map((byte) => byte.toString(16).padStart(2, '0')).join('')
  }
  return `${text}:${port.toString(16).padStart(4, '0')}`.toUpperCase()
}

/** Of an IP address, in the order of the network. */
export function addressBytes(host: string): readonly number[] {
  return host.includes(':') ? bytesOfSix(host) : host.split('.').map(Number)
}

function bytesOfSix(host: string): readonly number[] {
  // The URL parser writes it in its shortest form, without an IPv4 tail.
  const short = new URL(`http://[${host}]/`).hostname.slice(1, -1)
  const [head = '', tail] = short.split('::')
  const groups = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)))
  const [front, back] = [groups(head), groups(tail ?? '')]
  const all = [...front, ...Array<number>(8 - front.length - back.length).fill(0), ...back]
  return all.flatMap((group) => [group >> 8, group & 255])
}
