import { z } from 'zod'
import { DryRun, ProjectRef, Wait } from '../schemas/common.ts'
import { databaseNamePattern } from '../schemas/names.ts'
import { Purge } from '../schemas/trash.ts'

/** What operations of one project have in common. */
export const id = z.object({ id: ProjectRef })
export const database = z.object({
  id: ProjectRef,
  db: z.string().regex(databaseNamePattern).describe('Name of the database in the project.'),
})
export const read = { kind: 'scope', scope: 'read', project: true } as const
export const operate = { kind: 'scope', scope: 'operate', project: true } as const
export const admin = { kind: 'scope', scope: 'admin', project: true } as const
export const change = z.strictObject({ dryRun: DryRun, wait: Wait })
export const removal = z.strictObject({ purge: Purge, dryRun: DryRun, wait: Wait })

/** In the body: a database goes back to the version and the data from before an upgrade. */
export const losesLaterWrites = (pointer: string) =>
  ({
    to: 'admin',
    when: { part: 'body', pointers: [pointer], equals: true },
    because: 'a database loses what was written since its upgrade',
  }) as const
