import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'

/** What stands in the proxy's home. `routes` is all it needs to serve after a reboot without a control plane. */
export function stateFiles(home: string) {
  return {
    routes: join(home, 'routes.json'),
    facts: join(home, 'proxy.json'),
    socket: join(home, 'proxy.sock'),
    log: join(home, 'proxy.log'),
    /** A folder for each project. */
    access: join(home, 'access'),
    codeCache: join(home, 'code-cache'),
  } as const
}

/** After a crash at any moment the file holds the old value or the new one, whole. */
export async function writeJson(path: string, value: unknown): Promise<void> {
  const draft = `${path}.new`
  const file = await open(draft, 'w', 0o600)
  try {
    await file.writeFile(JSON.stringify(value))
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, path)
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
