import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { CliError } from '../../errors.ts'
import { exitCodes } from '../../exit-codes.ts'
import { wholeNumber } from '../../options.ts'
import { jsonText } from '../../output/json.ts'
import { plainText } from '../../output/plain-text.ts'
import { programOutput } from '../../output/program-output.ts'
import { size } from '../../output/size.ts'
import { writeAll } from '../../output/write-all.ts'
import { exitCodeOfProgram, ProgramEnded, runningProgram } from '../../program-end.ts'
import { addRunArguments, findRun, type OneRunFlags } from '../../runs/find-run.ts'
import { endOf, seconds, testSummary } from '../../runs/run-text.ts'
import { streamingClient } from '../../streaming-client.ts'

interface FollowFlags extends OneRunFlags {
  readonly after?: string
}

export const defineFollow: Define = (command, context) =>
  addRunArguments(command)
    .summary('show the output of a run from its beginning, and go on until it ends')
    .description('Show the output of a run from its beginning, and go on until it ends; the exit code is its own.')
    .option('--after <position>', 'go on behind this "seq"')
    .addHelpText(
      'after',
      '\nCtrl-C ends the following and not the run. With --json each frame is a JSON object of its own.',
    )
    .action((id: string | undefined, flags: FollowFlags) => runningProgram(() => run(context(), id, flags)))

async function run(context: Context, id: string | undefined, flags: FollowFlags): Promise<void> {
  const after = flags.after === undefined ? 0 : wholeNumber(flags.after, '--after', 0, 999_999_999_999_999)
  const client = await streamingClient(context)
  const params = await findRun(context, client, id, flags)
  const { world, style, noteStyle } = context
  const show = {
    stdout: programOutput(world.stdout, style.colors.isColorSupported),
    stderr: programOutput(world.stderr, noteStyle.colors.isColorSupported),
  }
  const last = await client.followRun(params.id, params.run, {
    after,
    signal: context.signal,
    onState: (state) => {
      if (state === 'retrying') context.note(noteStyle.colors.dim('… connection lost, reconnecting'))
    },
    onFrame: (frame) => {
      if (context.json) return writeAll(world.stdout, `${jsonText(frame)}\n`)
      if (frame.type === 'output') return show[frame.stream](frame.text)
      if (frame.type === 'gap') context.note(`… ${size(frame.bytes)} of its output are no longer kept`)
      if (frame.type === 'result') context.note(testSummary(frame, noteStyle.colors))
      return undefined
    },
  })
  if (last === null) throw new CliError('', { exitCode: exitCodes.interrupted })
  if (last.kind !== 'test' && last.state !== 'cancelled')
    context.note(`${plainText(last.label)}: ${endOf(last)}, ${seconds(last)}`)
  if (last.state === 'cancelled') throw new CliError('It was cancelled.', { exitCode: exitCodes.notRun })
  if (last.error !== null) throw new CliError(last.error.detail, { exitCode: exitCodes.notRun, hint: last.error.hint })
  const own = exitCodeOfProgram({ code: last.exitCode, signal: last.signal })
  const code = last.kind !== 'test' ? own : last.state === 'succeeded' ? exitCodes.ok : exitCodes.failed
  if (code !== 0) throw new ProgramEnded(code)
}
