import type { Reading, Writing } from './context.ts'
import type { ImageReader, ImageWriter } from './model/images.ts'
import { given } from './prepared.ts'

/** Builds of one image that are remembered of a workload; the oldest are forgotten, and stay on the machine. */
const usesKept = 20

export function imageReader({ db, prepare }: Reading): ImageReader {
  const pinned = prepare(
    db
      .selectFrom('image_pins')
      .select(['workload', 'reference', 'image'])
      .where('project', '=', given<string>('project'))
      .orderBy('workload')
      .orderBy('reference'),
  )
  return {
    uses: (project, workload) => {
      const uses = db
        .selectFrom('workload_images')
        .select(['workload', 'reference', 'image', 'first_used as firstUsedAt', 'last_used as lastUsedAt'])
        .where('project', '=', project)
      const some = workload === undefined ? uses : uses.where('workload', '=', workload)
      return some.orderBy('last_used', 'desc').orderBy('first_used', 'desc').orderBy('image').execute()
    },
    pins: async (project) =>
      pinned({ project }).map(({ workload, reference, image }) => ({ workload, reference, image })),
  }
}

export function imageWriter({ db, now }: Writing): ImageWriter {
  return {
    used: async (project, { workload, reference, image }) => {
      await db
        .insertInto('workload_images')
        .values({ project, workload, reference, image, first_used: now, last_used: now })
        .onConflict((conflict) =>
          conflict.columns(['project', 'workload', 'reference', 'image']).doUpdateSet({ last_used: now }),
        )
        .execute()
      const newest = db
        .selectFrom('workload_images')
        .select('image')
        .where('project', '=', project)
        .where('workload', '=', workload)
        .where('reference', '=', reference)
        .orderBy('last_used', 'desc')
        .limit(usesKept)
      await db
        .deleteFrom('workload_images')
        .where('project', '=', project)
        .where('workload', '=', workload)
        .where('reference', '=', reference)
        .where('image', 'not in', newest)
        .execute()
    },
    pin: async (project, { workload, reference, image }) => {
      await db
        .insertInto('image_pins')
        .values({ project, workload, reference, image })
        .onConflict((conflict) => conflict.columns(['project', 'workload', 'reference']).doUpdateSet({ image }))
        .execute()
    },
    unpin: async (project, workload, reference) => {
      await db
        .deleteFrom('image_pins')
        .where('project', '=', project)
        .where('workload', '=', workload)
        .where('reference', '=', reference)
        .execute()
    },
  }
}
