import { readSync, statSync, writeSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { flushCompileCache } from 'node:module'
import { giveUpRights } from '../as-user/give-up-rights.ts'
import { openRoot } from './place.ts'
import { createSession } from './session.ts'
import { BadPacketError, createPacketCutter } from './wire.ts'

/*
 * The process of one SFTP session. Arguments: uid and gid, or `-` for those of the service, the folder that is the root, the order of
 * the fields of a new link, and `ahead` when small files are told with their handle. It speaks SFTP on its standard input and output. Like the helper that acts as a project’s user it is started as
 * root, loads its files, gives up its rights for good, and only then reads what to do; so the kernel lets no process of that user look into it.
 *
 * It serves one client alone, in order, so it reads and writes without an event loop: what a small request costs is mostly waiting for and
 * waking another process. A client that does not read its answers is not read either, because the write waits.
 */

const mostRead = 256 << 10
/** Of answers that wait for those to requests of the same chunk. */
const mostWaiting = 64 << 10

const [uid, gid, folder, order, ahead] = process.argv.slice(2)
flushCompileCache()
// Threads are made while there is no limit of processes in the way.
await stat('/')
if (uid !== '-') giveUpRights(Number(uid), Number(gid))
process.umask(0o027)
process.chdir('/')
process.exit(serve(folder ?? ''))

/** Answers the exit code. */
function serve(path: string): number {
  if (!statSync(path).isDirectory()) return 71
  const answers = createAnswers()
  const session = createSession(openRoot(path), { linkFirst: order === 'link-first', ahead: ahead === 'ahead' })
  const cut = createPacketCutter((packet) => answers.add(session(packet)))
  const chunk = Buffer.allocUnsafeSlow(mostRead)
  try {
    for (let read = readSync(0, chunk); read > 0; read = readSync(0, chunk)) {
      cut(chunk.subarray(0, read))
      answers.send()
    }
    return 0
  } catch (error) {
    // The other side is gone: it wants no more.
    if (!(error instanceof BadPacketError)) return 'syscall' in (error as object) ? 0 : 1
    // It does not speak the protocol: what was answered before is sent, and nothing follows.
    answers.send()
    return 1
  }
}

/** Goes out together for all requests that came together, as long as it is little. */
function createAnswers() {
  let waiting: Buffer[] = []
  let length = 0
  const send = () => {
    if (length === 0) return
    const bytes = waiting.length === 1 ? waiting[0]! : Buffer.concat(waiting, length)
    waiting = []
    length = 0
    for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at)
  }
  return {
    send,
    add: (answer: Buffer) => {
      waiting.push(answer)
      length += answer.length
      if (length >= mostWaiting) send()
    },
  }
}
