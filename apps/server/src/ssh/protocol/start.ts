import type { ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { startTalker } from '@stackquay/engines'

const program = fileURLToPath(new URL('./program.ts', import.meta.url))

/** Who owns nothing: users of this number exist on every Linux, and no project is one. */
const nobody = 65534

/**
 * Starts the process that speaks SSH. As root it becomes a user who owns nothing; without root it has the user of the service. Node itself
 * refuses it files that it would write, programs that it would start and connections that it would make: all that it has is handed to it.
 */
export function startProtocol(compiled: string | null): Promise<ChildProcess> {
  return startTalker({
    program,
    user: process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : null,
    flags: ['--permission', '--allow-fs-read=*', '--max-old-space-size=128', '--max-semi-space-size=4'],
    compiled,
  })
}
