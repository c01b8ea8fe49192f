import type { CallResult, ProjectPatch, ProjectSummary, ProjectView } from '@stackquay/contract'
import { isObject } from '../lib/settings-changes.ts'
import { fieldsOf, type SettingsField } from '../lib/settings-fields.ts'
import type { SettingsValue } from './settings-form.tsx'

export type ServiceType = CallResult<'listServices'>['items'][number]

/** The settings of a service in a project; null when it was never configured. */
export function serviceSettings(project: ProjectView | ProjectSummary, type: ServiceType): SettingsValue | null {
  const settings = type.under === undefined ? project[type.name] : project.addons?.[type.name]
  return isObject(settings) ? settings : null
}

/** A change of its settings, as PATCH takes it. */
export function patchOf(type: ServiceType, settings: SettingsValue): ProjectPatch {
  const own = { [type.name]: settings }
  return (type.under === undefined ? own : { [type.under]: own }) as ProjectPatch
}

/** Where its settings stand in that change. */
export function pointerOf(type: ServiceType, field?: string): string {
  const own = `${type.under === undefined ? '' : `/${type.under}`}/${type.name}`
  return field === undefined ? own : `${own}/${field}`
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
