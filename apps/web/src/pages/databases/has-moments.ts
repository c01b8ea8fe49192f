import type { JsonSchema } from '../../lib/settings-fields.ts'
import type { ServiceType } from '../../modules/service-type.ts'

/** Whether databases of this type can be restored to a moment: then that is a setting of theirs. */
export function hasMoments({ settingsSchema }: Pick<ServiceType, 'settingsSchema'>): boolean {
  return 'pointInTime' in ((settingsSchema as JsonSchema).properties ?? {})
}
