import type { Store } from '@stackquay/store'
import type { Model } from './model.ts'

export interface Page {
  readonly limit: number
  readonly cursor?: string
}

/**
 * Pages of all projects as they are sent. One is made again only when something was written or a status changed since;
 * both are asked for every time, so nobody sees what is no longer so.
 */
export function createProjectList({ store, model }: { readonly store: Store; readonly model: Model }) {
  let stored = -1
  let derived = -1
  const pages = new Map<string, Buffer>()

  return async function projectList(page: Page): Promise<Buffer> {
    const now = { stored: store.version(), derived: model.version() }
    if (now.stored !== stored || now.derived !== derived) {
      pages.clear()
      ;({ stored, derived } = now)
    }
    const key = `${page.limit} ${page.cursor ?? ''}`
    const known = pages.get(key)
    if (known !== undefined) return known
    const made = Buffer.from(await textOf(page, { store, model }))
    // Somebody who came later may have found something newer meanwhile; then this page is of the past already.
    const isOfNow = now.stored === stored && now.derived === derived
    if (isOfNow && pages.size < pagesKept) pages.set(key, made)
    return made
  }
}

/** Whoever walks through cursors of their own making gets their pages all the same. */
const pagesKept = 20

async function textOf(
  { limit, ...from }: Page,
  { store, model }: { readonly store: Store; readonly model: Model },
): Promise<string> {
  const page = await store.projects.revisions({ limit: limit + 1, ...from })
  const shown = page.slice(0, limit)
  const items: string[] = []
  for (const { id, revision } of shown) {
    let text = model.summaryJson(id, revision)
    if (text === null) {
      await model.renew(id)
      text = model.summaryJson(id, model.find(id)?.row.revision ?? revision)
    }
    if (text !== null) items.push(text)
  }
  const next = page.length > limit ? JSON.stringify(shown.at(-1)!.id) : 'null'
  return `{"items":[${items.join(',')}],"nextCursor":${next}}`
}
