import type { createAdmission } from './admission.ts'
import type { ClientReader } from './client.ts'
import type { RecordDenial } from './denials.ts'
import type { DeniedLog } from './denied-log.ts'
import type { OriginRules } from './origin.ts'
import type { RightsWatch } from './rights-watch.ts'

/** What addresses beside the API need, to let in and refuse as it does. */
export interface HttpKit {
  readonly admit: ReturnType<typeof createAdmission>
  readonly origins: OriginRules
  readonly client: ClientReader
  readonly rights: RightsWatch
  readonly recordDenial: RecordDenial
  readonly denied: DeniedLog
  /** Aborts when the service stops. */
  readonly stopping: AbortSignal
}
