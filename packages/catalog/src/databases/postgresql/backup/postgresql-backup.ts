import { writeBaseBackup } from './base-backup.ts'
import { contents } from './contents.ts'
import { hold } from './hold.ts'
import { mark } from './mark.ts'

/**
 * Backs up the cluster that the variables of libpq name, counts what is in it, holds it for a copy of its files, or marks its log; for
 * servers whose own client programs are not there.
 *
 * Usage: postgresql-backup (copy | contents | hold | mark)
 */
const [act] = process.argv.slice(2)

try {
  if (act === 'copy') await writeBaseBackup(process.stdout)
  else if (act === 'contents') process.stdout.write(await contents())
  else if (act === 'hold') await hold(process.stdin, (line) => process.stdout.write(`${line}\n`))
  else if (act === 'mark') process.stdout.write(await mark())
  else throw new Error('Say what to do: copy, contents, hold or mark.')
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
