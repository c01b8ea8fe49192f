import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createHash } from './node-crypto.ts'

/**
 * The package's version and a hash of its code, so that a changed proxy is replaced by the next start of the control
 * plane whether or not the version was counted up.
 */
export async function proxyVersion(): Promise<string> {
  const folder = import.meta.dirname
  const { version } = JSON.parse(await readFile(join(folder, '..', 'package.json'), 'utf8')) as { version: string }
  const hash = createHash('sha256')
  for (const name of (await readdir(folder, { recursive: true })).sort()) {
    if (/\.(ts|js)$/.test(name)) hash.update(name).update(await readFile(join(folder, name)))
  }
  return `${version}+${hash.digest('hex').slice(0, 8)}`
}
