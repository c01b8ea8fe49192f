import { z } from 'zod'
import { shownName } from '../shown-name.ts'
import { Time } from './common.ts'
import { copyMethods } from './snapshots.ts'

export const checkpointSources = ['manual', 'before-restore'] as const
export type CheckpointSource = (typeof checkpointSources)[number]

export const CheckpointId = z
  .string()
  .regex(/^chk_[a-z0-9]{10,40}$/)
  .describe('Id of a checkpoint: chk_….')

export const CheckpointPart = z
  .object({
    name: z.string().describe('source, or the name of the data.'),
    method: z.enum(copyMethods),
    bytes: z.int(),
  })
  .meta({ id: 'CheckpointPart' })
export type CheckpointPart = z.infer<typeof CheckpointPart>

export const Checkpoint = z
  .object({
    id: CheckpointId,
    name: z.string(),
    source: z.enum(checkpointSources).describe('before-restore: made by a restore, of what it replaced.'),
    parts: z.array(CheckpointPart).describe('What it holds besides settings and secrets.'),
    bytes: z.int().describe('Of all parts, shared blocks too.'),
    milliseconds: z.int().describe('How long the copies took; nothing ran meanwhile.'),
    warnings: z.array(z.string()).describe('What it is without.'),
    createdAt: Time,
  })
  .meta({ id: 'Checkpoint' })
export type Checkpoint = z.infer<typeof Checkpoint>

export const CheckpointCreate = z
  .strictObject({
    name: shownName(80).optional().describe('What it is for; made of the time when absent.'),
    includeRebuildable: z.boolean().optional().describe('Also folders such as node_modules.'),
  })
  .meta({ id: 'CheckpointCreate' })

export const CheckpointRestore = z
  .strictObject({
    confirm: z.string().max(100).describe('The project’s slug, typed.'),
    leaveOutTaken: z.boolean().optional().describe('Without host names and ports that others have by now.'),
  })
  .meta({ id: 'CheckpointRestore' })
