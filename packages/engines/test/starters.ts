import { appendFileSync } from 'node:fs'
import type { ShimProgram, StartProgram } from '../src/native/commands/shim-program.ts'

/** Runs "a program" that leaves a line in a file; the process ends before its start can be noted. */
export const startProgram: StartProgram = async (spec): Promise<ShimProgram> => {
  const { file, then } = spec.elsewhere as { readonly file: string; readonly then: 'killed' | 'ended' | 'refused' }
  if (then === 'refused') throw Object.assign(new Error('there is no such program'), { code: 'ENOENT' })
  appendFileSync(file, 'once\n')
  process.kill(process.pid, then === 'killed' ? 'SIGKILL' : 'SIGTERM')
  return new Promise(() => setInterval(() => {}, 1000))
}
