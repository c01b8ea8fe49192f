import { z } from 'zod'
import type { ServiceFields, ServiceSettings } from './entry-types.ts'
import { readOnlyPort } from './runtime-settings.ts'

/** The three schemas of a service out of its own fields. */
export function serviceSettings<Own extends z.ZodRawShape>(
  kind: { readonly keepsData: boolean; readonly alwaysPublished: boolean },
  /** Full stored fields of the kind's own. */
  own: Own,
  /** Their values when nothing was said. */
  defaults: Readonly<Record<string, unknown>> = {},
  options: {
    /** Patch forms of own fields that differ from "optional as stored". */
    readonly patch?: z.ZodRawShape
    /** View forms of own fields that hold secrets. */
    readonly view?: z.ZodRawShape
    readonly ofData?: readonly string[]
    readonly secretFields?: ServiceSettings['secretFields']
  } = {},
): ServiceSettings {
  const base = {
    enabled: z
      .boolean()
      .describe(kind.keepsData ? 'Off removes the service and keeps its data.' : 'Turns the service on or off.'),
    version: z.string().min(1).max(40).describe('A version offered by GET /services.'),
    exposePort: z
      .boolean()
      .describe(
        kind.alwaysPublished
          ? 'Always true: this service publishes its port.'
          : 'Publishes its port on this machine. Off leaves the service in place.',
      ),
  }
  const stored = z.strictObject({ ...base, ...own })
  const removeData = z
    .boolean()
    .meta({ writeOnly: true, description: 'With enabled: false: also deletes its data. Needs scope admin.' })
  return {
    stored,
    patch: z.strictObject({
      ...stored.partial().shape,
      ...options.patch,
      hostPort: readOnlyPort.optional(),
      ...(kind.keepsData ? { removeData: removeData.optional() } : {}),
    }),
    view: z.strictObject({ ...base, ...own, ...options.view, hostPort: readOnlyPort }),
    defaults: () =>
      ({ enabled: true, exposePort: kind.alwaysPublished, ...defaults }) as unknown as Omit<ServiceFields, 'version'>,
    ofData: options.ofData ?? [],
    secretFields: options.secretFields ?? [],
  }
}
