import { useState } from 'react'
import { saveFile } from '../../api/download.ts'
import { checkExport, type DumpCompression, type DumpFormat, exportPath } from '../../api/dumps.ts'
import { Button } from '../../components/button.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { SelectField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.databases.dumps

/** In which form; then the browser saves it as it comes. */
export function ExportDatabase({ project, name, onClose }: { project: string; name: string; onClose: () => void }) {
  const [format, setFormat] = useState<DumpFormat>('sql')
  const [compress, setCompress] = useState<DumpCompression>('gzip')
  const { busy, error, clear, run } = useSubmit()
  const submit = () =>
    run(async () => {
      await checkExport(project, name, format)
      await saveFile(exportPath(project, name, format, compress))
      onClose()
    })
  return (
    <Form onSubmit={submit}>
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <SelectField
          label={t.format}
          value={format}
          onChange={(event) => {
            clear()
            setFormat(event.target.value as DumpFormat)
          }}
        >
          {(['sql', 'custom'] as const).map((value) => (
            <option key={value} value={value}>
              {t.formats[value]}
            </option>
          ))}
        </SelectField>
        <SelectField
          label={t.compress}
          value={compress}
          onChange={(event) => setCompress(event.target.value as DumpCompression)}
        >
          {(['gzip', 'zstd', 'none'] as const).map((value) => (
            <option key={value} value={value}>
              {t.compressions[value]}
            </option>
          ))}
        </SelectField>
      </div>
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy}>
          {t.exportSubmit}
        </Button>
      </DialogActions>
    </Form>
  )
}
