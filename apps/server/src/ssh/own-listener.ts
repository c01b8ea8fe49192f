import { readFile } from 'node:fs/promises'
import { endianness } from 'node:os'

/**
 * The loopback address at which a program of this user, and of no other, listens on a port; null where none does or the kernel does not
 * say. Programs of a project that are no workloads are known by their user alone.
 */
export async function ownListener(port: number, uid: number): Promise<'127.0.0.1' | '::1' | null> {
  for (const [family, loopback, any, host] of families) {
    const owners = await listenersAt(family, port, [loopback, any])
    if (owners.length > 0) return owners.every((owner) => owner === uid) ? host : null
  }
  return null
}

async function listenersAt(family: string, port: number, addresses: readonly string[]): Promise<readonly number[]> {
  const text = await readFile(`/proc/net/${family}`, 'utf8').catch(() => '')
  const wanted = addresses.map((address) => `${address}:${port.toString(16).toUpperCase().padStart(4, '0')}`)
  return text
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((columns) => columns[3] === listening && wanted.includes(columns[1] ?? ''))
    .map((columns) => Number(columns[7]))
}

/** Columns of proc_pid_net(5): `sl local_address rem_address st … uid`. */
const listening = '0A'
const little = endianness() === 'LE'
const families = [
  ['tcp', little ? '0100007F' : '7F000001', '00000000', '127.0.0.1'],
  ['tcp6', `${'0'.repeat(24)}${little ? '01000000' : '00000001'}`, '0'.repeat(32), '::1'],
] as const
