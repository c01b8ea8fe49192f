import { statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { flushCompileCache } from 'node:module'
import { giveUpRights } from '../as-user/give-up-rights.ts'
import { openRoot } from './place.ts'
import { createSession } from './session.ts'
import { createPacketCutter } from './wire.ts'

/*
 * The process of one SFTP session. Arguments: uid and gid, or `-` for those of the service, the folder that is the root, and the order of
 * the fields of a new link. It speaks
 * SFTP on its standard input and output. Like the helper that acts as a project’s user it is started as root, loads its files, gives up
 * its rights for good, and only then reads what to do; so the kernel lets no process of that user look into it.
 */

const [uid, gid, folder, order] = process.argv.slice(2)
flushCompileCache()
// Threads are made while there is no limit of processes in the way.
await stat('/')
if (uid !== '-') giveUpRights(Number(uid), Number(gid))
process.umask(0o027)
process.chdir('/')
serve(folder ?? '')

function serve(path: string): void {
  if (!statSync(path).isDirectory()) process.exit(71)
  const session = createSession(openRoot(path), { linkFirst: order === 'link-first' })
  const { stdin, stdout } = process
  const cut = createPacketCutter((packet) => void stdout.write(session(packet)))
  stdin.on('data', (chunk: Buffer) => {
    try {
      stdout.cork()
      cut(chunk)
    } catch {
      // It does not speak the protocol: what was answered before is sent, and nothing follows.
      stdout.end(() => process.exit(1))
      return
    } finally {
      stdout.uncork()
    }
    // A client that does not read its answers is not read either.
    if (!stdout.writableNeedDrain) return
    stdin.pause()
    stdout.once('drain', () => stdin.resume())
  })
  stdin.on('end', () => stdout.end(() => process.exit(0)))
  for (const event of ['error', 'close'] as const) stdin.on(event, () => stdout.end(() => process.exit(0)))
  stdout.on('error', () => process.exit(0))
}
