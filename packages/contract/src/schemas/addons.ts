import { addonNamePattern, longestAddon } from '@stackquay/catalog'
import { z } from 'zod'

export type { AddonDefinition } from '@stackquay/catalog'

import { PageUrl, Time } from './common.ts'

export const AddonName = z
  .string()
  .regex(addonNamePattern, 'must match [a-z][a-z0-9-]{0,28}[a-z0-9]')
  .describe('Name of the addon.')

const hostPort = z.int().nullable().meta({ readOnly: true, description: 'Its port on this machine.' })
const fields = {
  enabled: z.boolean().describe('Off keeps settings and data.'),
  version: z.string().min(1).max(40).describe('One of the addon’s versions.'),
  exposePort: z.boolean().describe('Publishes its ports on this machine.'),
}

export const AddonSettings = z.object({ ...fields, hostPort }).meta({ id: 'AddonSettings' })
export const AddonPatch = z
  .strictObject({
    ...fields,
    hostPort,
    removeData: z
      .boolean()
      .meta({ writeOnly: true, description: 'With enabled: false: deletes its data. Needs admin.' }),
  })
  .partial()
  .meta({ id: 'AddonPatch' })
export type AddonPatch = z.infer<typeof AddonPatch>

export function addonsOf<Entry extends z.ZodType>(entry: Entry) {
  return z.record(z.string().regex(addonNamePattern, 'must match [a-z][a-z0-9-]{0,28}[a-z0-9]'), entry)
}

export const ProjectAddon = z
  .object({
    name: z.string(),
    title: z.string(),
    ...fields,
    outdated: z.boolean().describe('The instance has a newer definition; the next start takes it.'),
    known: z.boolean().describe('Whether the instance still has an addon of this name.'),
    pageUrl: PageUrl,
  })
  .meta({ id: 'ProjectAddon' })

const AddonUse = z
  .object({
    project: z.string(),
    slug: z.string(),
    enabled: z.boolean(),
    hasData: z.boolean().describe('Whether data of it is there.'),
    outdated: z.boolean().describe('It goes on with an earlier definition until its next start.'),
  })
  .meta({ id: 'AddonUse' })

export const Addon = z
  .object({
    name: z.string(),
    title: z.string(),
    description: z.string().describe('What it is for.'),
    homepage: z.string().nullable().describe('Where it comes from.'),
    versions: z.array(z.string()),
    engines: z.array(z.string()).describe('What it can run on.'),
    usedBy: z.array(AddonUse).describe('Projects that have it.'),
    createdAt: Time,
    updatedAt: Time,
  })
  .meta({ id: 'Addon' })
export type Addon = z.infer<typeof Addon>
export const AddonWithFile = Addon.extend({ yaml: z.string().describe('The file as it was added.') }).meta({
  id: 'AddonWithFile',
})
export const AddonFile = z
  .strictObject({ yaml: z.string().max(longestAddon).describe('The file, at most 64 KiB.') })
  .meta({ id: 'AddonFile' })
