import { createHash } from 'node:crypto'
import { EngineError } from './errors.ts'
import type { WorkloadRef } from './workload.ts'

/** The pretended registry, what is there of it, and which build each workload has. */
export interface FakeImages {
  /** Another build that the registry has under this name from now on; answers its id. */
  publish(reference: string): string
  /** Makes a build go from the machine. */
  forget(id: string): void
  pull(ref: WorkloadRef, reference: string, newer: boolean): void
  /** The build that a workload is started from. */
  of(ref: WorkloadRef, reference: string): { readonly reference: string; readonly id: string }
}

export function createFakeImages(): FakeImages {
  const registry = new Map<string, string>()
  const tags = new Map<string, string>()
  const here = new Set<string>()
  const chosen = new Map<string, { reference: string; id: string }>()
  let builds = 0

  const publish = (reference: string) => {
    builds += 1
    const id = `sha256:${createHash('sha256').update(`${reference} ${builds}`).digest('hex')}`
    registry.set(reference, id)
    return id
  }
  const had = (reference: string, newer: boolean) => {
    if (isId(reference)) {
      if (here.has(reference)) return reference
      throw new EngineError('image_not_found', `There is no image ${reference}.`, { hint: 'It was deleted.' })
    }
    const known = tags.get(reference)
    if (known !== undefined && !newer && here.has(known)) return known
    const id = registry.get(reference) ?? publish(reference)
    tags.set(reference, id)
    here.add(id)
    return id
  }

  return {
    publish,
    forget: (id) => here.delete(id),
    pull: (ref, reference, newer) => {
      const key = `${ref.project}/${ref.workload}`
      const before = chosen.get(key)
      if (!newer && before?.reference === reference && here.has(before.id)) return
      chosen.set(key, { reference, id: had(reference, newer) })
    },
    of: (ref, reference) => {
      const choice = chosen.get(`${ref.project}/${ref.workload}`)
      return choice?.reference === reference ? choice : { reference, id: had(reference, false) }
    },
  }
}

const isId = (reference: string) => reference.startsWith('sha256:')
