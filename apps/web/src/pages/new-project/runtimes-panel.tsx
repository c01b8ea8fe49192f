import type { OfferedRuntime, OfferedTemplate } from '@stackquay/contract'
import { SelectField } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { withEntry } from '../../lib/project-form.ts'
import { VersionSelect } from '../../modules/version-select.tsx'
import { texts } from '../../texts/index.ts'
import type { PartProps } from './part-props.ts'
import { Missing, Tile, Tiles } from './tiles.tsx'

const t = texts.create

interface RuntimesPanelProps extends PartProps {
  runtimes: readonly OfferedRuntime[]
  /** The one that is chosen now. */
  template: OfferedTemplate | undefined
}

export function RuntimesPanel({ runtimes, template, ...part }: RuntimesPanelProps) {
  const { source } = part.form
  const brought = source === 'template' ? template?.runtime : undefined
  return (
    <Panel
      title={t.runtimes}
      detail={
        brought === undefined
          ? t.runtimesHelp[source]
          : t.templateBrings(runtimes.find((runtime) => runtime.name === brought)?.label ?? brought)
      }
    >
      <Tiles>
        {runtimes
          .filter((runtime) => runtime.available)
          .map((runtime) => (
            <RuntimeTile key={runtime.name} runtime={runtime} brought={brought === runtime.name} {...part} />
          ))}
      </Tiles>
      <Missing items={runtimes.filter((runtime) => !runtime.available)} />
    </Panel>
  )
}

function RuntimeTile({
  runtime,
  brought,
  form,
  change,
  errors,
}: PartProps & { runtime: OfferedRuntime; brought: boolean }) {
  const choice = form.runtimes[runtime.name]
  const set = (next: typeof choice | null) => change({ runtimes: withEntry(form.runtimes, runtime.name, next ?? null) })
  return (
    <Tile
      label={runtime.label}
      summary={brought ? t.fromTemplate : runtime.summary}
      checked={choice !== undefined}
      onChange={(checked) => set(checked ? { version: '', preset: '' } : null)}
      error={errorsAt(errors, `/${runtime.name}`)}
    >
      {choice && (
        <>
          <VersionSelect
            label={t.versionOf(runtime.label)}
            hideLabel
            versions={runtime.versions}
            value={choice.version}
            onChange={(version) => set({ ...choice, version })}
          />
          {runtime.presets.length > 1 && (
            <SelectField
              label={t.presetOf(runtime.label)}
              hideLabel
              value={choice.preset}
              onChange={(event) => set({ ...choice, preset: event.target.value })}
            >
              <option value="">{t.presetAuto}</option>
              {runtime.presets.map((preset) => (
                <option key={preset.name} value={preset.name}>
                  {preset.label}
                </option>
              ))}
            </SelectField>
          )}
        </>
      )}
    </Tile>
  )
}
