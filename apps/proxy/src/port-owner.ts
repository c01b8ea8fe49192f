import { readdir, readFile, readlink } from 'node:fs/promises'

export interface PortOwner {
  readonly pid: number
  readonly name: string
}

/** Who listens on a TCP port, as far as Linux lets this user see it; undefined elsewhere. */
export async function portOwner(port: number): Promise<PortOwner | undefined> {
  const inodes = new Set([
    ...(await listeningInodes('/proc/net/tcp', port)),
    ...(await listeningInodes('/proc/net/tcp6', port)),
  ])
  if (inodes.size === 0) return undefined

  for (const pid of await list('/proc')) {
    if (!/^\d+$/.test(pid)) continue
    for (const fd of await list(`/proc/${pid}/fd`)) {
      const link = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')
      if (!inodes.has(link)) continue
      const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => 'unknown')
      return { pid: Number(pid), name: name.trim() }
    }
  }
  return undefined
}

/** Columns of proc_pid_net(5): `sl local_address rem_address st … inode`; state 0A is LISTEN. */
async function listeningInodes(path: string, port: number): Promise<string[]> {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0')
  const lines = (await readFile(path, 'utf8').catch(() => '')).split('\n').slice(1)
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => state === '0A' && local?.endsWith(`:${wanted}`))
    .map((columns) => `socket:[${columns[9]}]`)
}

async function list(path: string): Promise<string[]> {
  return readdir(path).catch(() => [])
}
