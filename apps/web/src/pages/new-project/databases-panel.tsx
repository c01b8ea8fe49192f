import type { OfferedTemplate } from '@stackquay/contract'
import { TextField } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { freeName } from '../../lib/names.ts'
import { withEntry } from '../../lib/project-form.ts'
import type { ServiceType } from '../../modules/service-type.ts'
import { VersionSelect } from '../../modules/version-select.tsx'
import { texts } from '../../texts/index.ts'
import type { PartProps } from './part-props.ts'
import { Missing, Tile, Tiles } from './tiles.tsx'

const t = texts.create

interface DatabasesPanelProps extends PartProps {
  databases: readonly ServiceType[]
  /** The one that is chosen now. */
  template: OfferedTemplate | undefined
}

export function DatabasesPanel({ databases, template, ...part }: DatabasesPanelProps) {
  const brought = part.form.source === 'template' ? (template?.databases ?? []) : []
  return (
    <Panel title={t.databases} detail={t.databasesHelp}>
      <Tiles>
        {databases
          .filter((database) => database.available)
          .map((database) => (
            <DatabaseTile key={database.name} database={database} brought={brought.includes(database.name)} {...part} />
          ))}
      </Tiles>
      <Missing items={databases.filter((database) => !database.available)} />
    </Panel>
  )
}

function DatabaseTile({
  database,
  brought,
  form,
  change,
  errors,
}: PartProps & { database: ServiceType; brought: boolean }) {
  const choice = form.databases[database.name]
  const set = (next: typeof choice | null) =>
    change({ databases: withEntry(form.databases, database.name, next ?? null) })
  const names = Object.values(form.databases).map((item) => item.name)
  return (
    <Tile
      label={database.label}
      summary={brought ? t.fromTemplate : database.summary}
      checked={choice !== undefined}
      onChange={(checked) => set(checked ? { name: freeName(brought ? 'extra' : 'main', names), version: '' } : null)}
      error={choice ? errorsAt(errors, `/databases/${choice.name}`) : null}
    >
      {choice && (
        <>
          <TextField
            label={t.nameOfDatabase(database.label)}
            hideLabel
            mono
            value={choice.name}
            spellCheck={false}
            autoCapitalize="none"
            onChange={(event) => set({ ...choice, name: event.target.value })}
          />
          <VersionSelect
            label={t.versionOf(database.label)}
            hideLabel
            versions={database.versions}
            value={choice.version}
            onChange={(version) => set({ ...choice, version })}
          />
        </>
      )}
    </Tile>
  )
}
