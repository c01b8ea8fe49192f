import type { PlanRequest } from '@stackquay/domain'
import type { Engine } from '@stackquay/engine-api'

/** What a stop of a whole project ends besides its workloads, as the project's engine can. */
export function straysOf(
  engine: Pick<Engine, 'capabilities'> | null,
  project: string,
  { commands = false }: { readonly commands?: boolean } = {},
): Pick<PlanRequest, 'strays'> {
  const found = engine?.capabilities.strays ?? 'none'
  return found === 'none' ? {} : { strays: { project, commands: commands || found === 'all' } }
}
