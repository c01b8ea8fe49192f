import { reachOf } from '@stackquay/domain'
import type { ProjectRow } from '@stackquay/store'
import type { Handlers } from '../../http/handler.ts'
import { createProjectList } from '../project-list.ts'
import { projectSummary } from '../view.ts'
import type { ProjectsDeps } from './deps.ts'

export function listHandler({ store, model }: ProjectsDeps): Handlers['listProjects'] {
  const listAll = createProjectList({ store, model })
  return async ({ query }, { principal }) => {
    const { limit = 50, cursor, q, state } = query
    const ids = reachOf(principal) ?? undefined
    if (ids === undefined && q === undefined && state === undefined) {
      return { status: 200, json: await listAll({ limit, ...(cursor === undefined ? {} : { cursor }) }) }
    }
    const isWanted = ({ id }: ProjectRow) =>
      state === undefined || (model.find(id) !== null && model.status(id).state === state)
    const rows: ProjectRow[] = []
    let more = true
    let after = cursor
    // A filter by state is over what is derived, so pages are read until one is full.
    while (more && rows.length <= limit) {
      const page = await store.projects.list({
        limit: pageSize,
        ...(after === undefined ? {} : { cursor: after }),
        ...(q === undefined ? {} : { q }),
        ...(ids === undefined ? {} : { ids }),
      })
      rows.push(...page.filter(isWanted))
      more = page.length === pageSize
      after = page.at(-1)?.id
    }
    const shown = rows.slice(0, limit)
    const items = shown.flatMap(({ id }) => {
      const parts = model.parts(id)
      return parts === null ? [] : [projectSummary(parts)]
    })
    return { status: 200, body: { items, nextCursor: rows.length > limit ? shown.at(-1)!.id : null } }
  }
}

const pageSize = 200
