import type { ContainerFacts } from '@stackquay/domain'
import type { Observed } from '@stackquay/engine-api'
import type { ImageUse, Store, WorkloadImage } from '@stackquay/store'

/** Which builds of their images workloads had, and which of them a person chose to stay with. */
export interface ImageRecords {
  /** For resolving a project: the build that was chosen for a workload and a reference, or null. */
  pinned(project: string): Promise<ContainerFacts['pinned']>
  /** What was seen of a project. A build is written down when a workload begins to run from it, not at every look. */
  observed(project: string, observed: readonly Observed[]): void
  /** Ends when everything that was seen is written down. */
  settled(): Promise<void>
}

export interface ImageRecordsOptions {
  readonly store: Pick<Store, 'images' | 'projects' | 'transaction'>
  onError(error: unknown, what: string): void
}

export function createImageRecords({ store, onError }: ImageRecordsOptions): ImageRecords {
  /** What the workloads of each project run from, so that only a change asks the store. */
  const known = new Map<string, Map<string, string>>()
  let writing: Promise<void> = Promise.resolve()

  const write = async (project: string, workload: string, seen: SeenImage) => {
    if ((await store.projects.find(project)) === null) return
    const [uses, pins] = await Promise.all([store.images.uses(project, workload), store.images.pins(project)])
    const reference = referenceOf(workload, seen, pins, uses)
    if (reference === null || (uses[0]?.image === seen.id && uses[0].reference === reference)) return
    await store.transaction((tx) => tx.images.used(project, { workload, reference, image: seen.id }))
  }

  return {
    pinned: async (project) => {
      const pins = await store.images.pins(project)
      return (workload, reference) => pinOf(pins, workload, reference)?.image ?? null
    },
    observed: (project, observed) => {
      const before = known.get(project)
      const now = new Map<string, string>()
      for (const { ref, state, image } of observed) {
        if (image === undefined || state !== 'running') continue
        now.set(ref.workload, textOf(image))
        if (before?.get(ref.workload) === textOf(image)) continue
        writing = writing
          .then(() => write(project, ref.workload, image))
          .catch((error: unknown) => {
            known.get(project)?.delete(ref.workload)
            onError(error, `writing down the image of ${ref.workload}`)
          })
      }
      // Nothing is remembered of a project that has nothing, so that deleted ones leave no trace.
      if (now.size === 0) known.delete(project)
      else known.set(project, now)
    },
    settled: () => writing,
  }
}

type SeenImage = NonNullable<Observed['image']>

function textOf({ reference, id }: SeenImage): string {
  return `${reference} ${id}`
}

export function pinOf(pins: readonly WorkloadImage[], workload: string, reference: string): WorkloadImage | undefined {
  return pins.find((pin) => pin.workload === workload && pin.reference === reference)
}

/**
 * The reference that a workload has its image by. One that runs from a chosen build is started by that build's id; what the id
 * stands for is known from the choice, or from when it was used before.
 */
export function referenceOf(
  workload: string,
  { reference, id }: SeenImage,
  pins: readonly WorkloadImage[],
  uses: readonly ImageUse[],
): string | null {
  if (reference !== id) return reference
  const same = (one: WorkloadImage) => one.workload === workload && one.image === id
  return (pins.find(same) ?? uses.find(same))?.reference ?? null
}
