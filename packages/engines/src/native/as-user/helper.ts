import { stat } from 'node:fs/promises'
import { flushCompileCache } from 'node:module'
import { acts } from './acts.ts'
import { asFilesError, FilesError } from './files-error.ts'
import { createFrameReader, encodeFrame, mostJson, type Reply, type Request } from './frames.ts'
import { giveUpRights } from './give-up-rights.ts'

/*
 * The process that acts as one project's user. Arguments: uid and gid. It is started as root, loads its files (which the user need
 * not be able to read), gives up its rights for good, and only then reads what to do.
 *
 * Because it changed its user itself, the kernel lets no process of that user look into it or trace it; it can be killed or
 * stopped by one, which the service notices. It starts no program, and ends with the service.
 */

const [uid, gid] = process.argv.slice(2).map(Number)
flushCompileCache()
// Threads are made while there is no limit of processes in the way.
await stat('/')
giveUpRights(uid ?? 0, gid ?? 0)
process.umask(0o027)
process.chdir('/')
serve()

function serve(): void {
  const running = new Map<number, AbortController>()
  const answer = async (request: Request, bytes: Buffer): Promise<void> => {
    const { id, act, args } = request
    if (act === undefined) return running.get(id)?.abort()
    const abort = new AbortController()
    running.set(id, abort)
    try {
      const { value, bytes: body } = await acts[act as keyof typeof acts](args as never, bytes, abort.signal)
      if (Buffer.byteLength(JSON.stringify(value)) > mostJson / 2) throw new FilesError('too_many')
      send({ id, value }, body)
    } catch (error) {
      const { code, message } = asFilesError(error)
      send({ id, error: code, message }, Buffer.alloc(0))
    } finally {
      running.delete(id)
    }
  }
  const read = createFrameReader(
    () => ({ json: 64 << 20, bytes: 256 << 20 }),
    ({ json, bytes }) => void answer(json as Request, bytes),
  )
  process.stdin.on('data', read)
  for (const event of ['end', 'error', 'close'] as const) process.stdin.on(event, () => process.exit(0))
  process.stdout.on('error', () => process.exit(0))
}

function send(reply: Reply, bytes: Buffer): void {
  process.stdout.write(encodeFrame(reply, bytes))
}
