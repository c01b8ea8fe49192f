import { randomUUID } from 'node:crypto'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { plainText } from '../../output/plain-text.ts'
import { exitCodeOfProgram, ProgramEnded, runningProgram } from '../../program-end.ts'
import { endOf, seconds } from '../../runs/run-text.ts'
import { runToEnd } from '../../runs/run-to-end.ts'
import { streamingClient } from '../../streaming-client.ts'

interface RunFlags {
  readonly detach?: boolean
}

export const defineRun: Define = (command, context) =>
  command
    .summary('run a cron job now')
    .description('Run a cron job now and show its output; the exit code is its own. Its times stay as they are.')
    .argument('<project>', 'id or slug')
    .argument('<name>', 'of the cron job')
    .option('--detach', 'start it, print its id, and leave it running')
    .action((project: string, name: string, flags: RunFlags) =>
      runningProgram(() => run(context(), project, name, flags)),
    )

async function run(context: Context, id: string, name: string, flags: RunFlags): Promise<void> {
  const client = await streamingClient(context)
  const call = { signal: context.signal, idempotencyKey: randomUUID() }
  const started = await client.call('runCronJob', { params: { id, name } }, call)
  if (flags.detach === true) {
    context.note(`It runs. Follow it with: stq runs follow ${started.id} --project ${id}`)
    context.result(started, () => started.id)
    return
  }
  const ended = await runToEnd(context, client, (options) => client.followRun(id, started.id, options))
  const code = exitCodeOfProgram({ code: ended.run.exitCode, signal: ended.run.signal })
  const { colors } = context.noteStyle
  const sign = code === 0 ? colors.green('✔') : colors.red('✖')
  context.note(`${sign} ${plainText(ended.run.name)}: ${endOf(ended.run)}, ${seconds(ended.run)}`)
  if (context.json) context.result(ended.run, () => '')
  if (code !== 0) throw new ProgramEnded(code)
}
