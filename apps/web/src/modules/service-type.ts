import type { CallResult, ProjectSummary, ProjectView } from '@stackquay/contract'
import { isObject } from '../lib/settings-changes.ts'
import { fieldsOf, type SettingsField } from '../lib/settings-fields.ts'
import type { SettingsValue } from './settings-form.tsx'

export type ServiceType = CallResult<'listServices'>['items'][number]

/** The settings of a service in a project; null when it was never configured. */
export function serviceSettings(project: ProjectView | ProjectSummary, type: ServiceType): SettingsValue | null {
  const settings = project[type.name]
  return isObject(settings) ? settings : null
}

export function isEnabled(project: ProjectView | ProjectSummary, type: ServiceType): boolean {
  return serviceSettings(project, type)?.enabled === true
}

/** What a person may set; whether it is on is the button's business. */
export function settingsOf(type: ServiceType): readonly SettingsField[] {
  return fieldsOf(type.settingsSchema).filter(
    (field) => !field.readOnly && field.key !== 'enabled' && !(field.key === 'exposePort' && type.alwaysPublished),
  )
}
