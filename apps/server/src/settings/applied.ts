import type { InstanceSettingKey } from '@stackquay/contract'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { Model } from '../projects/model.ts'

export interface AppliedDeps {
  readonly certificates: { renew(): Promise<void> }
  readonly logExport: { renew(): Promise<void> }
  readonly projects: { readonly model: Pick<Model, 'all' | 'renew'>; publishedTable(): Promise<void> }
}

/** What projects resolve to with another value, though nothing of them changed. */
const resolvedWith: ReadonlySet<InstanceSettingKey> = new Set(['baseDomain', 'publishAddress', 'imageMap'])
/** What the proxy is told beside the routes. */
const inTable: ReadonlySet<InstanceSettingKey> = new Set(['baseDomain', 'trustedProxies'])
/** What certificates are made for, and what the proxy does with them. */
const inCertificates: ReadonlySet<InstanceSettingKey> = new Set([
  'baseDomain',
  'tlsLocal',
  'tlsRedirect',
  'tlsHstsSeconds',
])

const ofLogExport: ReadonlySet<InstanceSettingKey> = new Set(['logExportUrl', 'logExportProjects'])

/** Makes again what was made from settings that changed. Everything else asks the config when it needs it. */
export function createApplied(
  { certificates, logExport, projects: { model, publishedTable } }: AppliedDeps,
  {
    config,
    log,
    onError,
  }: { readonly config: Config; readonly log: Pick<Logger, 'level'>; onError(error: unknown, what: string): void },
): (keys: readonly InstanceSettingKey[]) => Promise<void> {
  return async (keys) => {
    if (keys.includes('logLevel')) log.level = config.logLevel
    if (keys.some((key) => resolvedWith.has(key))) {
      for (const { row } of model.all())
        await model.renew(row.id, 'remembered').catch((error: unknown) => {
          onError(error, `applying settings of the instance to ${row.slug}`)
        })
    }
    if (keys.some((key) => inTable.has(key))) await publishedTable()
    if (keys.some((key) => inCertificates.has(key))) await certificates.renew()
    if (keys.some((key) => ofLogExport.has(key))) await logExport.renew()
  }
}
