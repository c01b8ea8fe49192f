import { Download, FileJson, FileSpreadsheet } from 'lucide-react'
import { saveFile } from '../api/download.ts'
import { Button } from '../components/button.tsx'
import { Menu, MenuItem } from '../components/menu.tsx'
import { toastProblem } from '../components/toast.tsx'
import { type AuditFilter, auditQueryOf, isNarrowed } from '../lib/audit-filter.ts'
import { texts } from '../texts/index.ts'

const t = texts.activity
const formats = { jsonl: FileJson, csv: FileSpreadsheet } as const

/** The browser writes the file itself while it comes, so that no log is too long for a page. */
export function AuditExport({ filter }: { filter: AuditFilter }) {
  const save = (format: keyof typeof formats) => {
    const query = new URLSearchParams({ format, ...auditQueryOf(filter, Date.now()) })
    saveFile(`/audit/export?${query}`).catch(toastProblem)
  }
  return (
    <Menu trigger={<Button icon={Download}>{t.export}</Button>}>
      <p className="px-2 pt-1 pb-0.5 text-xs text-ink-3">{t.exportHelp[isNarrowed(filter) ? 'filtered' : 'all']}</p>
      {(['jsonl', 'csv'] as const).map((format) => (
        <MenuItem key={format} icon={formats[format]} onSelect={() => save(format)}>
          {t.exportAs[format]}
        </MenuItem>
      ))}
    </Menu>
  )
}
