import type { CallResult, ProjectSummary, ProjectView } from '@stackquay/contract'
import { isObject } from '../lib/settings-draft.ts'
import { fieldsOf, type SettingsField } from '../lib/settings-fields.ts'
import type { SettingsValue } from './settings-form.tsx'

export type ServiceKind = CallResult<'listServices'>['items'][number]

/** The settings of a service in a project; null when it was never configured. */
export function serviceSettings(project: ProjectView | ProjectSummary, kind: ServiceKind): SettingsValue | null {
  const settings = project[kind.name]
  return isObject(settings) ? settings : null
}

export function isEnabled(project: ProjectView | ProjectSummary, kind: ServiceKind): boolean {
  return serviceSettings(project, kind)?.enabled === true
}

/** What a person may set; whether it is on is the button's business. */
export function settingsOf(kind: ServiceKind): readonly SettingsField[] {
  return fieldsOf(kind.settingsSchema).filter(
    (field) => !field.readOnly && field.key !== 'enabled' && !(field.key === 'exposePort' && kind.alwaysPublished),
  )
}
