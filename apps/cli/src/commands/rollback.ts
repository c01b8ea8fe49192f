import { randomUUID } from 'node:crypto'
import type { Define } from '../define.ts'
import { projectRef } from '../find-project.ts'
import type { WaitFlags } from '../finish-operation.ts'
import { addWaitOptions, projectArgument } from '../options.ts'
import { finish } from './deploy.ts'

export const define: Define = (command, context) => {
  command
    .description('Go back to the commit of the deploy before, or of one that is named. No data goes back.')
    .argument('[project]', projectArgument)
    .option('--to <deploy>', 'id of a deploy, see "stq git deploys"')
  addWaitOptions(command).action(async (project: string | undefined, flags: WaitFlags & { readonly to?: string }) => {
    const here = context()
    const id = await projectRef(here, project)
    const client = await here.client()
    const input = { params: { id }, body: flags.to === undefined ? {} : { deploy: flags.to } }
    const options = { signal: here.signal, idempotencyKey: randomUUID() }
    await finish(here, await client.call('rollbackDeploy', input, options), flags)
  })
}
