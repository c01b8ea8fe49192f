import { writeBaseBackup } from './base-backup.ts'
import { contents } from './contents.ts'

/**
 * Backs up the cluster that the variables of libpq name, or counts what is in it; for servers whose own client programs are
 * not there.
 *
 * Usage: postgresql-backup (copy | contents)
 */
const [act] = process.argv.slice(2)

try {
  if (act === 'copy') await writeBaseBackup(process.stdout)
  else if (act === 'contents') process.stdout.write(await contents())
  else throw new Error('Say what to do: copy or contents.')
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
