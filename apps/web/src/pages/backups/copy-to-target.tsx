import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { copyBackup, targetsQuery } from '../../api/backup-targets.ts'
import { Button } from '../../components/button.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { SelectField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.backupTargets

export function CopyToTarget({ backup, onClose }: { backup: string; onClose: () => void }) {
  const query = useQuery(targetsQuery)
  const navigate = useNavigate()
  const [chosen, setChosen] = useState<string | null>(null)
  const { busy, error, run } = useSubmit()
  return (
    <Loaded query={query} rows={2}>
      {(targets) => {
        const target = chosen ?? targets[0]?.id
        if (target === undefined) return <p className="text-ink-2">{t.emptyDetail}</p>
        const submit = () =>
          run(async () => {
            const { id } = await copyBackup(backup, target)
            onClose()
            await navigate({ to: '/operations/$operation', params: { operation: id } })
          })
        return (
          <Form onSubmit={submit}>
            <SelectField label={t.target} value={target} onChange={(event) => setChosen(event.target.value)}>
              {targets.map(({ id, name, place }) => (
                <option key={id} value={id}>
                  {name} ({place})
                </option>
              ))}
            </SelectField>
            {error !== null && <ErrorNote error={error} />}
            <DialogActions>
              <Button onClick={onClose}>{texts.common.cancel}</Button>
              <Button type="submit" look="primary" busy={busy}>
                {t.copySubmit}
              </Button>
            </DialogActions>
          </Form>
        )
      }}
    </Loaded>
  )
}
