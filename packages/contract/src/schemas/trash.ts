import { z } from 'zod'
import { Flag, Time, Wait } from './common.ts'
import { engineNames, slugPattern } from './project.ts'

export const TrashId = z
  .string()
  .regex(/^trs_[0-9a-z]{1,40}$/, 'is no id of the trash')
  .describe('`id` of the item.')

export const Purge = Flag.optional().describe('Deletes at once, past the trash: only that frees disk now.')

export const TrashItem = z
  .object({
    id: z.string().describe('trs_…, of the item.'),
    kind: z.enum(['project', 'service', 'database', 'file']),
    name: z
      .string()
      .describe('Slug of the project, name of the service or database, path of the file: what `confirm` must be.'),
    state: z.enum(['moving', 'kept', 'restoring', 'purging']).describe('Only what is `kept` can be restored.'),
    project: z
      .object({ id: z.string(), slug: z.string(), name: z.string(), deleted: z.boolean() })
      .meta({ id: 'TrashProject' })
      .describe('The project that it is or was of.'),
    engine: z.enum(engineNames),
    data: z.array(z.object({ name: z.string(), sizeBytes: z.int().nullable() }).meta({ id: 'TrashData' })),
    sizeBytes: z.int().nullable().describe('All of its data; null where a part is not known.'),
    deletedAt: Time,
    deletedBy: z.string(),
    purgeAt: Time.describe('When it is deleted for good.'),
  })
  .meta({ id: 'TrashItem' })
export type TrashItem = z.infer<typeof TrashItem>

export const TrashList = z
  .object({
    items: z.array(TrashItem),
    keepDays: z.int().describe('How many days something stays that is deleted now.'),
  })
  .meta({ id: 'TrashList' })

export const TrashRestore = z
  .strictObject({
    slug: z
      .string()
      .regex(slugPattern, 'must be lower-case letters, digits and hyphens')
      .optional()
      .describe('Another slug for a project, when its own is taken.'),
    leaveOutHosts: z
      .boolean()
      .optional()
      .describe('Leaves out host names that other projects have by now. Default: refused.'),
  })
  .meta({ id: 'TrashRestore' })
  .optional()

export const TrashWait = z.strictObject({ wait: Wait })
