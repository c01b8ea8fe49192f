import { randomUUID } from 'node:crypto'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { addRunArguments, findRun, type OneRunFlags } from '../../runs/find-run.ts'

export const defineCancel: Define = (command, context) =>
  addRunArguments(command)
    .summary('end a run with everything it started')
    .description('End a run with everything it started, and wait for that.')
    .action((id: string | undefined, flags: OneRunFlags) => run(context(), id, flags))

async function run(context: Context, id: string | undefined, flags: OneRunFlags): Promise<void> {
  const client = await context.client()
  const input = { params: await findRun(context, client, id, flags), query: { wait: 60 } }
  const call = { signal: context.signal, idempotencyKey: randomUUID() }
  const ended = await client.call('cancelRun', input, call)
  context.note(`${ended.id} is ${ended.state}.`)
  context.result(ended, () => '')
}
