import { exitView } from '../terminals/environment.ts'
import { createStdinChannel } from '../terminals/stdin-channel.ts'
import type { SshChannel } from './channel.ts'
import { writeAll } from './channel-streams.ts'
import { complain } from './complain.ts'
import type { Entered } from './entered.ts'
import { endChannel } from './terminal-socket.ts'

export interface RunningProgram {
  signal(name: NodeJS.Signals): void
}

/** A program without a terminal: bytes go to and fro as they are, and it ends with its channel. */
export async function runProgram(
  entered: Entered,
  channel: SshChannel,
  { argv, env }: { argv(): Promise<readonly string[]>; readonly env: Readonly<Record<string, string>> },
  started: (program: RunningProgram) => void,
): Promise<void> {
  const { exec, context, workload, project } = entered
  const stdin = createStdinChannel()
  const left = new AbortController()
  channel.once('close', () => {
    stdin.drop()
    left.abort()
  })
  void readInto(channel, stdin)
  try {
    const { process, ended } = await exec.run(
      await entered.projectNow(),
      { argv: [...(await argv())], workload, env: { ...env } },
      { stdin, output: (stream, bytes) => writeAll(stream === 'stdout' ? channel : channel.stderr, bytes) },
      { ...context, signal: AbortSignal.any([context.signal, left.signal]) },
    )
    started(process)
    endChannel(channel, exitView(await ended))
  } catch (error) {
    if (!left.signal.aborted && !context.signal.aborted) await complain(channel, error, project.slug)
  } finally {
    stdin.drop()
  }
}

async function readInto(channel: SshChannel, stdin: ReturnType<typeof createStdinChannel>): Promise<void> {
  try {
    for await (const bytes of channel.iterator({ destroyOnReturn: false })) await stdin.write(bytes as Buffer)
    stdin.end()
  } catch {
    stdin.drop()
  }
}
