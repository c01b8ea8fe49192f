import type { OfferedTemplate } from '@stackquay/contract'
import { Switch, TextField } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { texts } from '../../texts/index.ts'
import { Gallery } from './gallery.tsx'
import type { PartProps } from './part-props.ts'
import { SourceChoice } from './source-choice.tsx'

const t = texts.create

/** Where the files of the project come from. */
export function SourcePanel({
  form,
  change,
  errors,
  templates,
}: PartProps & { templates: readonly OfferedTemplate[] }) {
  return (
    <Panel>
      <SourceChoice value={form.source} onChange={(source) => change({ source })} />
      <p className="mt-2 text-sm text-ink-2">{t.sourceHelp[form.source]}</p>
      <div className="mt-4">
        {form.source === 'template' && (
          <Gallery
            templates={templates}
            chosen={form.template}
            onChoose={(chosen) => change({ template: chosen })}
            error={errorsAt(errors, '/template')}
          />
        )}
        {form.source === 'git' && <GitFields form={form} change={change} errors={errors} />}
        {form.source === 'folder' && <FolderFields form={form} change={change} errors={errors} />}
      </div>
    </Panel>
  )
}

function GitFields({ form, change, errors }: PartProps) {
  return (
    <div className="grid grid-cols-1 gap-4 sm:grid-cols-[minmax(0,1fr)_14rem]">
      <TextField
        label={t.gitUrl}
        help={t.gitUrlHelp}
        mono
        inputMode="url"
        spellCheck={false}
        autoCapitalize="none"
        value={form.gitUrl}
        onChange={(event) => change({ gitUrl: event.target.value })}
        error={errorsAt(errors, '/git/url')}
      />
      <TextField
        label={t.gitBranch}
        optional
        help={t.gitBranchHelp}
        mono
        spellCheck={false}
        autoCapitalize="none"
        value={form.gitBranch}
        onChange={(event) => change({ gitBranch: event.target.value })}
        error={errorsAt(errors, '/git/branch')}
      />
    </div>
  )
}

function FolderFields({ form, change, errors }: PartProps) {
  return (
    <div className="flex flex-col gap-4">
      <TextField
        label={t.folder}
        help={t.folderHelp}
        mono
        spellCheck={false}
        autoCapitalize="none"
        value={form.path}
        onChange={(event) => change({ path: event.target.value })}
        error={errorsAt(errors, '/path')}
      />
      <Switch
        label={t.asOwner}
        help={t.asOwnerHelp}
        checked={form.asOwner}
        onChange={(asOwner) => change({ asOwner })}
        error={errorsAt(errors, '/runAs')}
      />
    </div>
  )
}
