import type { Client, FollowRunOptions } from '@stackquay/client'
import type { Problem, Run, TestCase } from '@stackquay/contract'
import type { Context } from '../context.ts'
import { CliError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'
import { plainText } from '../output/plain-text.ts'
import { programOutput } from '../output/program-output.ts'
import { size } from '../output/size.ts'

export interface EndedRun {
  readonly run: Run
  /** Of a test run: its failed tests, at most 200. */
  readonly failed: readonly TestCase[]
}

/**
 * Shows a run as it goes: its standard output and standard error on those of stq. The first Ctrl-C ends the run and
 * waits for that; the second leaves it as it is. Throws when it could not begin or was cancelled.
 */
export async function runToEnd(
  context: Context,
  client: Client,
  begin: (options: FollowRunOptions & { onStart(run: Run): void }) => Promise<Run | null>,
): Promise<EndedRun> {
  const { world } = context
  const { dim } = context.noteStyle.colors
  const show = {
    stdout: programOutput(world.stdout, context.style.colors.isColorSupported),
    stderr: programOutput(world.stderr, context.noteStyle.colors.isColorSupported),
  }
  // Ctrl-C ends the run and not the reading: what it prints while it ends is wanted.
  const reading = new AbortController()
  let known: Run | null = null
  let cancelled = false
  let phase: string | null = null
  let failed: readonly TestCase[] = []
  const cancel = () => {
    if (known === null || cancelled) return
    cancelled = true
    context.note(dim('… ending it; Ctrl-C again leaves it running'))
    client
      .call('cancelRun', { params: { id: known.project, run: known.id } }, { idempotencyKey: crypto.randomUUID() })
      .catch((error: Error) => context.note(`It could not be ended: ${plainText(error.message)}`))
  }
  const know = (run: Run) => {
    known = run
    if (world.interrupted.aborted) cancel()
    if (run.phase === phase) return
    phase = run.phase
    if (phase !== null) context.note(dim(`▸ ${plainText(phase)}`))
  }
  world.interrupted.addEventListener('abort', cancel, { once: true })
  try {
    const run = await begin({
      signal: reading.signal,
      onStart: know,
      onState: (state) => {
        if (state === 'retrying') context.note(dim('… connection lost, reconnecting; the run continues'))
      },
      onFrame: (frame) => {
        if (frame.type === 'output') return context.json ? undefined : show[frame.stream](frame.text)
        if (frame.type === 'gap') context.note(dim(`… ${size(frame.bytes)} of its output are no longer kept`))
        if (frame.type === 'start' || frame.type === 'status') know(frame.run)
        if (frame.type === 'result') failed = frame.failed
        return undefined
      },
    })
    if (run === null) throw new CliError('', { exitCode: exitCodes.interrupted })
    if (run.state === 'cancelled') throw cancelledError(context, run, cancelled)
    if (run.error !== null) {
      const problem = run.error as Problem
      throw new CliError(problem.detail, { exitCode: exitCodes.notRun, problem })
    }
    return { run, failed }
  } finally {
    world.interrupted.removeEventListener('abort', cancel)
  }
}

function cancelledError(context: Context, run: Run, byUs: boolean): CliError {
  if (context.json) context.result(run, () => '')
  return new CliError(byUs ? 'It was ended.' : 'Someone else ended it.', {
    exitCode: byUs ? exitCodes.interrupted : exitCodes.notRun,
  })
}
