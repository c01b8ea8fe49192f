import { randomUUID } from 'node:crypto'
import type { OperationRecord } from '@stackquay/contract'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { projectRef } from '../find-project.ts'
import { finishOperation, takenOn, type WaitFlags } from '../finish-operation.ts'
import { addWaitOptions, projectArgument } from '../options.ts'
import { plainText } from '../output/plain-text.ts'

export const define: Define = (command, context) => {
  command
    .description(
      'Deploy the branch as it is at the remote: pull, install, run the hook deploy, restart what changed, and see that the project is well. What fails goes back.',
    )
    .argument('[project]', projectArgument)
  addWaitOptions(command).action(async (project: string | undefined, flags: WaitFlags) => {
    const here = context()
    const id = await projectRef(here, project)
    const client = await here.client()
    const input = { params: { id } }
    await finish(
      here,
      await client.call('createDeploy', input, { signal: here.signal, idempotencyKey: randomUUID() }),
      flags,
    )
  })
}

/** Answers it when it was waited for. */
export async function finish(
  context: Context,
  operation: OperationRecord,
  flags: WaitFlags,
): Promise<OperationRecord | null> {
  if (flags.wait === false) {
    takenOn(context, operation)
    return null
  }
  const last = await finishOperation(context, operation, flags)
  const said = last.steps.flatMap((step) => step.output).at(-1)
  context.note(`${context.noteStyle.colors.green('✔')} ${plainText(said ?? 'done')}`)
  if (context.json) context.result(last, () => '')
  return last
}
