import { operation } from '../operation.ts'
import { InstanceSettings, InstanceSettingsPatch } from '../schemas/instance-settings.ts'

const instance = { kind: 'scope', scope: 'admin', instance: true } as const

export const getSettings = operation({
  id: 'getSettings',
  method: 'GET',
  path: '/settings',
  tag: 'System',
  summary: 'Read the settings of the instance, and where each comes from',
  description: 'Passwords are never answered.',
  access: instance,
  results: { 200: InstanceSettings },
  problems: [],
})

export const updateSettings = operation({
  id: 'updateSettings',
  method: 'PATCH',
  path: '/settings',
  tag: 'System',
  summary: 'Change settings of the instance',
  description:
    'All or nothing; null returns to the default. What needs no restart holds at once. A setting of the environment is refused. ' +
    'With another base domain projects answer there alone; their programs learn it when they restart.',
  access: instance,
  body: InstanceSettingsPatch,
  bodyTypes: ['application/merge-patch+json'],
  results: { 200: InstanceSettings },
  problems: ['validation_failed', 'setting_external', 'session_required', 'login_failed', 'throttled'],
  audit: 'settings.update',
})
