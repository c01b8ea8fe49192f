import { ProblemError } from '@stackquay/contract'
import { problemErrorOf } from '../http/problem-answer.ts'
import type { SshChannel } from './channel.ts'
import { inTerminal, writeAll } from './channel-streams.ts'

/** Tells a person on the other side why nothing runs, and ends the channel as a shell does that could not. */
export async function complain(channel: SshChannel, error: unknown, slug: string): Promise<void> {
  const problem = error instanceof ProblemError ? error : problemErrorOf(error)
  const hint = problem.hint === undefined || problem.hint === null ? '' : `\n${problem.hint}`
  await writeAll(channel.stderr, inTerminal(`${slug}: ${problem.message}${hint}`))
  if (channel.destroyed || channel.writableEnded) return
  channel.exit({ code: problem.code === 'program_not_found' ? 127 : 254 })
  channel.end()
}
