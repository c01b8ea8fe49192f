import { statfs } from 'node:fs/promises'
import type { DiagnosticCheck } from '@stackquay/contract'

/** Whether databases and backups still have room. */
export async function diskCheck(home: string): Promise<DiagnosticCheck> {
  const { bavail, bsize, blocks } = await statfs(home)
  const free = bavail * bsize
  const share = blocks === 0 ? 1 : bavail / blocks
  const detail = `${(free / 1e9).toFixed(1)} GB free (${Math.round(share * 100)} %).`
  if (free < 500e6) return check('error', detail, 'Free some space: databases stop when the disk is full.')
  return free < 5e9 ? check('warning', detail, 'Free some space soon.') : check('ok', detail, null)
}

function check(status: DiagnosticCheck['status'], detail: string, hint: string | null): DiagnosticCheck {
  return { id: 'disk', category: 'storage', title: 'Disk', status, detail, hint, fix: null }
}
