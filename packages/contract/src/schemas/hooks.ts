import { runtimeTypes } from '@stackquay/catalog'
import { z } from 'zod'

/** Moments of a project at which a command of its own runs, in the order in which people meet them. */
export const hookNames = [
  'after-create',
  'before-start',
  'after-start',
  'before-backup',
  'after-import',
  'after-restore',
  'deploy',
] as const
export type HookName = (typeof hookNames)[number]

export const Hook = z
  .strictObject({
    command: z
      .array(z.string().max(4000))
      .min(1)
      .max(50)
      .describe('Words of the command, never a shell line. Its program is found through PATH.'),
    timeoutSeconds: z.int().min(1).max(1200).optional().describe('Ended after so long; 300 when absent.'),
    runtime: z
      .enum(runtimeTypes.map(({ name }) => name) as [string, ...string[]])
      .optional()
      .describe('In the environment of this runtime; the first one’s when absent.'),
  })
  .meta({ id: 'Hook' })
export type Hook = z.infer<typeof Hook>

const described: Readonly<Record<HookName, string>> = {
  'after-create': 'Once, when the project was created.',
  'before-start': 'Before its programs start or are replaced; databases run then.',
  'after-start': 'When its programs have started.',
  'before-backup': 'Before a backup, while the project runs.',
  'after-import': 'When a dump was imported, or data was pulled.',
  'after-restore': 'When a backup, a snapshot or a checkpoint was put back.',
  deploy: 'In a deploy, when the files are new and dependencies installed, before programs restart.',
}

/** With `null`: removes one. */
export const HooksPatch = z
  .strictObject(
    Object.fromEntries(hookNames.map((name) => [name, Hook.nullable().optional().describe(described[name])])) as Record<
      HookName,
      z.ZodOptional<z.ZodNullable<typeof Hook>>
    >,
  )
  .meta({ id: 'HooksPatch' })
export const Hooks = z
  .object(
    Object.fromEntries(hookNames.map((name) => [name, Hook.optional().describe(described[name])])) as Record<
      HookName,
      z.ZodOptional<typeof Hook>
    >,
  )
  .meta({ id: 'Hooks' })
export type Hooks = { [Name in HookName]?: Hook | undefined }
