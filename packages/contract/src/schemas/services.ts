import { serviceTypes } from '@stackquay/catalog'
import { z } from 'zod'
import { AddonName } from './addons.ts'
import { PageUrl, Time } from './common.ts'

const names = (kinds: typeof serviceTypes) => z.enum(kinds.map((kind) => kind.name) as [string, ...string[]])

export const ServiceName = names(serviceTypes)
/** Services with credentials of their own. */
export const CredentialsService = names(serviceTypes.filter((kind) => kind.credentials !== undefined))
/** Services whose data can be kept. */
export const BuiltInKeptData = names(serviceTypes.filter((kind) => kind.keepsData))
const keepsNone = new Set<string>(serviceTypes.filter((kind) => !kind.keepsData).map(({ name }) => name))
export const KeptDataKind = z.union([
  BuiltInKeptData,
  AddonName.refine((name) => !keepsNone.has(name), 'is a service that keeps no data'),
])

export const KeptData = z
  .object({
    kind: z.string().describe('The service; enabled again it finds this data.'),
    version: z.string().nullable().describe('The version that wrote it; null when unknown.'),
    sizeBytes: z.int(),
    keptAt: Time.nullable().describe('When the service was disabled; null when unknown.'),
  })
  .meta({ id: 'KeptData' })

export const Extras = z
  .object({
    services: z
      .array(
        z
          .object({ kind: z.string(), enabled: z.boolean(), version: z.string(), pageUrl: PageUrl })
          .meta({ id: 'ConfiguredService' }),
      )
      .describe('Services that were ever configured.'),
    keptData: z.array(KeptData).describe('Data of services that are not enabled.'),
  })
  .meta({ id: 'Extras' })

export const ServiceCredentials = z
  .record(z.string(), z.union([z.string(), z.int(), z.boolean(), z.null()]))
  .describe('The fields depend on the service; null means "none set".')
  .meta({ id: 'ServiceCredentials' })
