import { access, cp, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** A package as it is installed here, with all that it depends on. */
export async function copyPackage(
  name: string,
  target: string,
  from = import.meta.url,
  done = new Set<string>(),
): Promise<void> {
  if (done.has(name)) return
  done.add(name)
  const manifest = await manifestOf(name, from)
  if (manifest === null) return
  await cp(dirname(manifest), join(target, 'node_modules', name), { recursive: true })
  const { dependencies = {} } = JSON.parse(await readFile(manifest, 'utf8')) as { dependencies?: object }
  for (const dependency of Object.keys(dependencies)) await copyPackage(dependency, target, manifest, done)
}

async function manifestOf(name: string, from: string): Promise<string | null> {
  for (const folder of createRequire(from).resolve.paths(name) ?? []) {
    const manifest = join(folder, name, 'package.json')
    if (await exists(manifest)) return manifest
  }
  return null
}

export function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
