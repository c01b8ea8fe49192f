import { z } from 'zod'
import { Time } from './common.ts'
import { databaseNamePattern } from './names.ts'

export const pointInTimeStates = ['off', 'starting', 'ready', 'late'] as const

const Range = z.object({ from: Time, to: Time }).meta({ id: 'RestorableRange' })

export const PointInTime = z
  .object({
    database: z.string(),
    workload: z.string(),
    keep: z.string().nullable().describe('As in its settings: 7d.'),
    state: z
      .enum(pointInTimeStates)
      .describe('starting: the first base is not there. late: changes of minutes ago are not in the archive.'),
    ranges: z.array(Range).describe('Each moment in one can be restored, oldest first.'),
    bases: z.int().describe('Copies of its data from which changes are played back.'),
    bytes: z.int().describe('Of archive and bases on disk, shared blocks too.'),
    waiting: z.int().describe('Pieces of the log that are finished and not in the archive.'),
    waitingSince: Time.nullable().describe('When the oldest of them was finished.'),
  })
  .meta({ id: 'PointInTime' })
export type PointInTime = z.infer<typeof PointInTime>

export const DatabaseRestoreTo = z
  .strictObject({
    to: z.iso
      .datetime({ offset: true, error: 'must be a time with its zone, like 2026-11-26T10:00:00Z' })
      .describe('Everything that was committed then or before is in it.'),
    name: z
      .string()
      .regex(databaseNamePattern, 'must match [a-z][a-z0-9_]{0,30}')
      .describe('Name of the new database in the project.'),
  })
  .meta({ id: 'DatabaseRestoreTo' })
