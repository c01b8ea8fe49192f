import { type EventRecord, eventTypes, ProblemError } from '@stackquay/contract'
import { mayEnter } from '@stackquay/domain/access'
import type { Store } from '@stackquay/store'
import type { Principal } from './handler.ts'

/** Which events a follower gets. */
export type EventFilter = (event: EventRecord) => boolean

export interface EventWishes {
  readonly project?: string | undefined
  /** `run.changed,project.*`. */
  readonly types?: string | undefined
}

/**
 * What a caller may see of what he asked for, as he is when the event comes: projects may be closed to him meanwhile. Events without a project are about the instance, which a restricted caller does
 * not see. Throws when a project or a type is none.
 */
export async function eventFilter(
  { project, types }: EventWishes,
  caller: () => Principal,
  store: Pick<Store, 'projects'>,
): Promise<EventFilter> {
  const id = project === undefined ? null : await idOf(project, caller(), store)
  const wanted = types === undefined ? null : new Set(readTypes(types))
  return (event) =>
    mayEnter(caller(), event.project) &&
    (id === null || event.project === id) &&
    (wanted === null || wanted.has(event.type))
}

async function idOf(ref: string, principal: Principal, store: Pick<Store, 'projects'>): Promise<string> {
  const row = await store.projects.find(ref)
  // A restricted caller learns of no project but his own, existing or not.
  if (!mayEnter(principal, row?.id ?? ref))
    throw new ProblemError('project_forbidden', `The project "${ref}" is closed to you.`)
  // Of a project that is gone, what happened can still be read by its id.
  if (row === null && !ref.startsWith('prj_')) throw new ProblemError('not_found', `There is no project "${ref}".`)
  return row?.id ?? ref
}

/** The types that a list with commas names; a part that ends in `.*` names all that begin so. */
export function readTypes(text: string): readonly EventRecord['type'][] {
  return text.split(',').flatMap((part) => {
    const name = part.trim()
    const found = eventTypes.filter(
      (type) => type === name || (name.endsWith('.*') && type.startsWith(name.slice(0, -1))),
    )
    if (found.length === 0) {
      throw new ProblemError('invalid_request', `There is no event type "${name}".`, {
        hint: `There is ${eventTypes.join(', ')}.`,
      })
    }
    return found
  })
}
