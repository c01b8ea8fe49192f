import { randomUUID } from 'node:crypto'
import type { Define } from '../define.ts'
import { projectRef } from '../find-project.ts'
import type { WaitFlags } from '../finish-operation.ts'
import { addWaitOptions, projectArgument } from '../options.ts'
import { plainText } from '../output/plain-text.ts'
import { planText } from '../output/plan-text.ts'
import { finish } from './deploy.ts'

interface RollbackFlags extends WaitFlags {
  readonly to?: string
  readonly dryRun?: boolean
}

export const define: Define = (command, context) => {
  command
    .description('Go back to the commit of the deploy before, or of one that is named. No data goes back.')
    .argument('[project]', projectArgument)
    .option('--to <deploy>', 'id of a deploy, see "stq git deploys"')
    .option('--dry-run', 'show what it would bring and restart, and what stays as it is now, and do nothing')
  addWaitOptions(command).action(async (project: string | undefined, flags: RollbackFlags) => {
    const here = context()
    const id = await projectRef(here, project)
    const client = await here.client()
    const input = { params: { id }, body: flags.to === undefined ? {} : { deploy: flags.to } }
    if (flags.dryRun === true) {
      const plan = await client.plan('rollbackDeploy', input, { signal: here.signal })
      return here.result(plan, () => planText(plan, here.style.colors))
    }
    const options = { signal: here.signal, idempotencyKey: randomUUID() }
    const ended = await finish(here, await client.call('rollbackDeploy', input, options), flags)
    const said = ended?.steps.find(({ id: step }) => step === 'well')?.output ?? []
    // The last one is that it is well.
    for (const line of said.slice(0, -1)) here.note(`${here.noteStyle.colors.yellow('!')} ${plainText(line)}`)
  })
}
