import type { DiagnosticCheck } from '@stackquay/contract'
import type { LiveSettings } from '../settings/instance-settings.ts'

/** Stored settings that are not used, and those that wait for a restart. */
export async function settingsCheck({
  settings,
}: {
  readonly settings: Pick<LiveSettings, 'view'>
}): Promise<DiagnosticCheck> {
  const { items } = await settings.view()
  const about = { id: 'settings', category: 'system', title: 'Settings', fix: null } as const
  const ignored = items.filter((item) => item.ignored !== null)
  if (ignored.length > 0) {
    const detail = `Not used, because they are not valid: ${ignored.map(({ key, ignored: why }) => `${key} (${why})`).join(', ')}`
    return { ...about, status: 'warning', detail, hint: 'Correct them in the settings, or return to the default.' }
  }
  const pending = items.filter((item) => item.pending).map(({ key }) => key)
  return pending.length > 0
    ? {
        ...about,
        status: 'info',
        detail: `Changed, and not in use yet: ${pending.join(', ')}.`,
        hint: 'Restart the service.',
      }
    : { ...about, status: 'ok', detail: 'All settings are in use.', hint: null }
}
