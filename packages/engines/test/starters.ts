import { appendFileSync } from 'node:fs'
import type { HeldProgram, StartHeld } from '../src/native/commands/held-program.ts'

/** Runs "a program" that leaves a line in a file; then what is to happen happens before anybody can note that it was started. */
export const startHeld: StartHeld = async (spec): Promise<HeldProgram> => {
  const { file, then } = spec.elsewhere as { readonly file: string; readonly then: 'killed' | 'ended' | 'refused' }
  if (then === 'refused') throw Object.assign(new Error('there is no such program'), { code: 'ENOENT' })
  appendFileSync(file, 'once\n')
  process.kill(process.pid, then === 'killed' ? 'SIGKILL' : 'SIGTERM')
  return new Promise(() => setInterval(() => {}, 1000))
}
