import { databaseKinds, type RuntimeKind, runtimeKinds, serviceKinds, templates } from '@stackquay/catalog'
import { page, table } from './page.ts'

/** Runtimes, databases, services and templates, with the settings that the API and the project file take. */
export function catalogueReference(): string {
  return page(
    'Catalogue',
    '`packages/catalog`',
    'The keys are those of the API and of `stackquay.yml`. On the native engine a version is offered when its program is found on the machine; ' +
      '`GET /runtimes` says which are, and how to get the others.',
    '## Runtimes',
    ...runtimeKinds.map(runtime),
    '## Databases',
    table(
      ['Type', 'Also', 'Port', 'Releases', 'On Debian'],
      databaseKinds.map((kind) => [
        `\`${kind.name}\``,
        kind.aliases.join(', '),
        String(kind.port),
        versions(kind),
        `\`${kind.install.debian}\``,
      ]),
    ),
    ...(serviceKinds.length === 0
      ? []
      : [
          '## Services',
          table(
            ['Key', 'What it is', 'Releases', 'Variables'],
            serviceKinds.map((kind) => [`\`${kind.name}\``, kind.summary, versions(kind), kind.injects.join(', ')]),
          ),
        ]),
    '## Templates',
    table(
      ['Template', 'Runtime', 'What it is'],
      templates.map((template) => [`\`${template.name}\``, `\`${template.runtime}\``, template.summary]),
    ),
  )
}

function runtime(kind: RuntimeKind): string {
  const fields = Object.entries(kind.settings.stored.shape as Record<string, { description?: string | undefined }>)
  return [
    `### ${kind.label} (\`${kind.name}\`)`,
    `${kind.summary} Releases: ${versions(kind)}. On Debian: \`${kind.install.debian}\`.`,
    table(
      ['Preset', 'Port', 'What it is'],
      kind.presets.map((preset) => [`\`${preset.name}\``, String(preset.port), preset.summary]),
    ),
    table(
      ['Setting', 'Meaning'],
      fields.map(([name, schema]) => [`\`${name}\``, schema.description ?? '']),
    ),
  ].join('\n\n')
}

function versions(kind: {
  readonly releases: readonly { readonly version: string; readonly endOfLife: string | null }[]
}): string {
  return kind.releases
    .map(({ version, endOfLife }) => (endOfLife === null ? version : `${version} (until ${endOfLife})`))
    .join(', ')
}
