import { apiPrefix } from '@stackquay/client'
import type { ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { applyManifest, planManifest } from '../../api/changes.ts'
import { manifestQuery } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { ExternalLink } from '../../components/external-link.tsx'
import { Switch, TextArea } from '../../components/field.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Panel } from '../../components/panel.tsx'
import { toastDone } from '../../components/toast.tsx'
import { PlanView } from '../../modules/plan-view.tsx'
import { engineReason } from '../../modules/project-actions.ts'
import { useMay } from '../../modules/use-may.ts'
import { usePlan } from '../../modules/use-plan.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.settings

export function ProjectFile({ project }: { project: ProjectView }) {
  const query = useQuery(manifestQuery(project.id))
  const mayApply = useMay()('admin')
  const reason = engineReason(project)
  const [edited, setEdited] = useState<string | null>(null)
  const [prune, setPrune] = useState(false)
  const { busy, error, clear, run } = useSubmit()
  const stored = query.data?.manifest ?? ''
  const text = edited ?? stored
  const changed = edited !== null && edited !== stored
  const body = { manifest: text, prune }
  const live = usePlan(['manifest', project.id], changed ? body : null, (input, signal) =>
    planManifest(project.id, input, signal),
  )

  const apply = async () => {
    await run(async () => {
      const answer = await applyManifest(project.id, body)
      await query.refetch()
      setEdited(null)
      setPrune(false)
      toastDone(answer.operation === null ? t.saved : t.manifestApplied)
    })
  }
  const edit = (next: string) => {
    setEdited(next)
    clear()
  }
  const choosePrune = (next: boolean) => {
    setPrune(next)
    clear()
  }
  const reset = () => {
    setEdited(null)
    clear()
  }
  return (
    <Panel
      title={t.manifest}
      detail={t.manifestHelp}
      actions={query.data && <CopyButton text={text} label={`${texts.common.copy}: ${t.manifestLabel}`} />}
    >
      <Loaded query={query} rows={3} height="h-6">
        {() => (
          <div className="flex flex-col gap-4">
            <ManifestField value={text} readOnly={!mayApply || reason !== null} onChange={edit} />
            <p className="-mt-2 text-sm">
              <ExternalLink href={`${apiPrefix}/stackquay.schema.json`}>{t.manifestSchema}</ExternalLink>
            </p>
            {changed && (
              <>
                <Switch label={t.manifestPrune} help={t.manifestPruneHelp} checked={prune} onChange={choosePrune} />
                <div className="rounded-lg border border-line bg-sunken p-3">
                  {error === null ? <PlanView live={live} idle="" /> : <ErrorNote error={error} />}
                </div>
                <div className="flex gap-2">
                  <Button
                    look="primary"
                    busy={busy}
                    disabled={live.pending || live.plan === null}
                    reason={reason}
                    onClick={() => void apply()}
                  >
                    {t.manifestApply}
                  </Button>
                  <Button onClick={reset}>{t.manifestReset}</Button>
                </div>
              </>
            )}
          </div>
        )}
      </Loaded>
    </Panel>
  )
}

interface ManifestFieldProps {
  value: string
  readOnly: boolean
  onChange: (value: string) => void
}

function ManifestField({ value, readOnly, onChange }: ManifestFieldProps) {
  return (
    <TextArea
      label={t.manifestLabel}
      hideLabel
      mono
      rows={Math.min(18, Math.max(8, value.split('\n').length + 1))}
      value={value}
      readOnly={readOnly}
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={(event) => {
        // YAML knows no tabs; leaving the field stays Shift-Tab or Escape, Tab.
        if (
          !readOnly &&
          event.key === 'Tab' &&
          event.shiftKey === false &&
          event.currentTarget.dataset.leaving === undefined
        ) {
          event.preventDefault()
          document.execCommand('insertText', false, '  ')
        }
        if (event.key === 'Escape') event.currentTarget.dataset.leaving = ''
        else delete event.currentTarget.dataset.leaving
      }}
    />
  )
}
