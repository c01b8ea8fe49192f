import { ProblemError } from '@stackquay/contract'
import type { Handlers } from '../http/handler.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import type { ChangeDeps } from '../projects/change-project.ts'
import { planOf, standOf } from '../projects/plan.ts'
import { isEnded, operationView } from '../projects/view.ts'
import { fallAsleep, type SleepDeps } from './fall-asleep-and-wake.ts'

export function sleepHandlers(
  deps: ChangeDeps & SleepDeps,
  { find, wait }: ProjectAnswers,
): Pick<Handlers, 'sleepProject'> {
  return {
    sleepProject: async ({ params, query }, context) => {
      const row = await find(params.id)
      if (row.desired === 'stopped') throw isStopped(row.slug)
      if (query.dryRun === true) {
        const { resolved } = await deps.model.renew(row.id)
        const { observed, after } = await standOf(row, resolved, deps)
        return { status: 200, body: planOf(deps.engine, resolved, observed, { goal: 'stopped' }, { after }).plan }
      }
      const operation = await fallAsleep(row.id, context, undefined, deps)
      if (operation === null) throw isStopped(row.slug)
      const ended = await wait(operation, query.wait, context)
      return { status: isEnded(ended) ? 200 : 202, body: operationView(ended) }
    },
  }
}

function isStopped(slug: string): ProblemError {
  return new ProblemError('not_running', `The project "${slug}" is stopped, so a request does not wake it.`, {
    hint: `Start it first (POST /projects/${slug}/start).`,
  })
}
