import { Download } from 'lucide-react'
import { saveFile } from '../../api/download.ts'
import { logFilePath } from '../../api/runs.ts'
import { IconButton } from '../../components/button.tsx'
import { Menu, MenuItem } from '../../components/menu.tsx'
import { toastProblem } from '../../components/toast.tsx'
import { type LogSearch, logQueryOf } from '../../lib/log-query.ts'
import { texts } from '../../texts/index.ts'

const t = texts.logs

/** Everything the service keeps that matches the filters; the browser saves it as it comes. */
export function DownloadMenu({ project, search }: { project: string; search: LogSearch }) {
  return (
    <Menu trigger={<IconButton icon={Download} label={t.download} size="sm" />}>
      {(['text', 'jsonl'] as const).map((format) => (
        <MenuItem
          key={format}
          onSelect={() =>
            void saveFile(logFilePath(project, logQueryOf(search, Date.now()), format)).catch(toastProblem)
          }
        >
          {t.downloadAs[format]}
        </MenuItem>
      ))}
    </Menu>
  )
}
