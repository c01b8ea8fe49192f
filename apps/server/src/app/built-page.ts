import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the built page; null where it was not built. */
export function builtPage(): string | null {
  const folder = fileURLToPath(new URL('../../../web/dist', import.meta.url))
  return existsSync(join(folder, 'index.html')) ? folder : null
}
