import { z } from 'zod'
import { shownName } from '../shown-name.ts'
import { slugPattern } from './project.ts'

export const Rename = z
  .strictObject({
    slug: z.string().regex(slugPattern, 'must be lower-case letters, digits and hyphens'),
    redirectDays: z
      .int()
      .min(0)
      .max(365)
      .default(30)
      .describe('How long the addresses of before lead to the new ones.'),
  })
  .meta({ id: 'ProjectRename' })

export const Duplicate = z
  .strictObject({
    name: shownName(),
    slug: z.string().regex(slugPattern).optional(),
    start: z.boolean().optional(),
  })
  .meta({ id: 'ProjectDuplicate' })
