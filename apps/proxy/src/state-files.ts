import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { ListenAddress } from './listen-address.ts'

/** The files of the proxy's home. `routes`, with what changed since beside it, is all it needs to serve after a reboot without a control plane. */
export function stateFiles(home: string) {
  return {
    routes: join(home, 'routes.json'),
    facts: join(home, 'proxy.json'),
    socket: join(home, 'proxy.sock'),
    log: join(home, 'proxy.log'),
    /** A folder for each project. */
    access: join(home, 'access'),
    codeCache: join(home, 'code-cache'),
    /** Where a proxy that runs as a user of its own keeps all of these but socket, log and facts, which are root's. */
    data: join(home, 'data'),
  } as const
}

export interface ProxyFacts {
  readonly pid: number
  readonly version: string
  readonly listen: string
  readonly address: ListenAddress
  readonly socket: string
  readonly startedAt: Date
}

/** Writes down which process the proxy is, for readers of its home. */
export async function writeFacts(path: string, facts: ProxyFacts): Promise<void> {
  await writeJson(path, { ...facts, processStart: await processStart(facts.pid) })
}

/** The kernel's start time of a process in clock ticks since boot: with the pid it names a process for good. */
async function processStart(pid: number): Promise<number | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  if (text === undefined) return null
  // The second field is the program's name and may hold spaces and brackets.
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[19])
}

/** After a crash at any moment the file holds the old value or the new one, whole. Answers its size. */
export async function writeJson(path: string, value: unknown): Promise<number> {
  const bytes = Buffer.from(JSON.stringify(value))
  const unfinished = `${path}.new`
  const file = await open(unfinished, 'w', 0o600)
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(unfinished, path)
  return bytes.length
}

/** Undefined when there is no such file; throws when what stands there is no JSON. */
export async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
