import { Panel } from '../../components/panel.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { withEntry } from '../../lib/project-form.ts'
import type { ServiceType } from '../../modules/service-type.ts'
import { VersionSelect } from '../../modules/version-select.tsx'
import { texts } from '../../texts/index.ts'
import type { PartProps } from './part-props.ts'
import { Missing, Tile, Tiles } from './tiles.tsx'

const t = texts.create

export function ServicesPanel({ services, form, change, errors }: PartProps & { services: readonly ServiceType[] }) {
  const set = (name: string, version: string | null) => change({ services: withEntry(form.services, name, version) })
  return (
    <Panel title={t.services} detail={t.servicesHelp}>
      <Tiles>
        {services
          .filter((service) => service.available)
          .map(({ name, label, summary, versions }) => {
            const version = form.services[name]
            return (
              <Tile
                key={name}
                label={label}
                summary={summary}
                checked={version !== undefined}
                onChange={(checked) => set(name, checked ? '' : null)}
                error={errorsAt(errors, `/${name}`)}
              >
                {version !== undefined && versions.length > 1 && (
                  <VersionSelect
                    label={t.versionOf(label)}
                    hideLabel
                    versions={versions}
                    value={version}
                    onChange={(next) => set(name, next)}
                  />
                )}
              </Tile>
            )
          })}
      </Tiles>
      <Missing items={services.filter((service) => !service.available)} />
    </Panel>
  )
}
