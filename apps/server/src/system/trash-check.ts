import type { DiagnosticCheck } from '@stackquay/contract'
import type { Store } from '@stackquay/store'
import { sizeOf } from '../trash/trash-view.ts'

/** How much disk is used by what was deleted. */
export async function trashCheck({ store }: { readonly store: Pick<Store, 'trash'> }): Promise<DiagnosticCheck> {
  const items = await store.trash.all()
  const bytes = items.reduce((sum, item) => sum + (sizeOf(item) ?? 0), 0)
  const isWhole = items.every((item) => sizeOf(item) !== null)
  const stuck = items.filter(({ state }) => state !== 'kept')
  const size = `${isWhole ? '' : 'at least '}${(bytes / 1e9).toFixed(1)} GB`
  if (items.length === 0) return check('ok', 'The trash is empty.')
  const detail = `${items.length} deleted ${items.length === 1 ? 'thing uses' : 'things use'} ${size} of disk.`
  if (stuck.length === 0) return check('ok', detail)
  return check('info', `${detail} Still under way: ${stuck.map(({ name, state }) => `${name} (${state})`).join(', ')}.`)
}

function check(status: DiagnosticCheck['status'], detail: string): DiagnosticCheck {
  const hint =
    status === 'info' ? 'It is tried again every minute; the service’s log says what stands in the way.' : null
  return { id: 'trash', category: 'storage', title: 'Trash', status, detail, hint, fix: null }
}
