import { isDeepStrictEqual } from 'node:util'
import type { AddonDefinition, ProjectPatch } from '@stackquay/contract'
import type { ProjectRow } from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'
import type { ProjectAnswers } from './answers.ts'

/** Before a start: the definitions that changed since the project took them are taken now. Answers the project as it is then. */
export async function takeNewDefinitions(
  row: ProjectRow,
  context: RequestContext,
  addons: Readonly<Record<string, AddonDefinition>>,
  { find, change }: Pick<ProjectAnswers, 'find' | 'change'>,
): Promise<ProjectRow> {
  const outdated = Object.entries(row.spec.addons ?? {}).filter(
    ([name, held]) =>
      row.spec.services[name]?.enabled === true &&
      Object.hasOwn(addons, name) &&
      !isDeepStrictEqual(held, addons[name]),
  )
  if (outdated.length === 0) return row
  const patch: ProjectPatch = { addons: Object.fromEntries(outdated.map(([name]) => [name, {}])) }
  await change(row, patch, context, 'addon.update', {})
  return find(row.id)
}
