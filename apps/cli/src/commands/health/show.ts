import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { checkText } from './check-options.ts'

export const defineShow: Define = (command, context) =>
  command
    .argument('[project]', projectArgument)
    .summary('show how the health of a project is checked')
    .description('Show how the health of a project is checked.')
    .action(async (named: string | undefined) => {
      const at = context()
      const client = await at.client()
      const id = await projectRef(at, named)
      const { healthCheck } = await client.call('getProject', { params: { id } }, { signal: at.signal })
      at.result(healthCheck, () => plainText(checkText(healthCheck)))
    })
