import {
  databaseTypes,
  type RuntimeType,
  runtimeTypes,
  type ServiceType,
  serviceTypes,
  templates,
} from '@stackquay/catalog'
import { page, table } from './page.ts'

/** Runtimes, databases, services and templates, with the settings that the API and the project file take. */
export function catalogueReference(): string {
  return page(
    'Catalogue',
    '`packages/catalog`',
    'The keys are those of the API and of `stackquay.yml`. On the native engine a version is offered when its program is found on the machine; ' +
      '`GET /runtimes` says which are, and how to get the others.',
    '## Runtimes',
    ...runtimeTypes.map(runtime),
    '## Databases',
    table(
      ['Type', 'Also', 'Port', 'Releases', 'On Debian'],
      databaseTypes.map((kind) => [
        `\`${kind.name}\``,
        kind.aliases.join(', '),
        String(kind.port),
        versions(kind),
        `\`${kind.install.debian}\``,
      ]),
    ),
    '## Services',
    'How to use them, and what is kept: [Services](services.md).',
    ...serviceTypes.map(service),
    '## Templates',
    table(
      ['Template', 'Runtime', 'What it is'],
      templates.map((template) => [`\`${template.name}\``, `\`${template.runtime}\``, template.summary]),
    ),
  )
}

function runtime(kind: RuntimeType): string {
  return [
    `### ${kind.label} (\`${kind.name}\`)`,
    `${kind.summary} Releases: ${versions(kind)}. On Debian: \`${kind.install.debian}\`.`,
    table(
      ['Preset', 'Port', 'What it is'],
      kind.presets.map((preset) => [`\`${preset.name}\``, String(preset.port), preset.summary]),
    ),
    settings(kind),
  ].join('\n\n')
}

function service(kind: ServiceType): string {
  const ports = kind.ports.map(({ name, port, published }) => {
    const when = kind.alwaysPublished ? 'always published' : 'published on request'
    return `${port} (${name}, ${published ? when : 'never published'})`
  })
  const builtIn = kind.toolchain === null ? 'Built in.' : `On Debian: \`${kind.install.debian}\`.`
  return [
    `### ${kind.label} (\`${kind.name}\`)`,
    `${kind.summary} Releases: ${versions(kind)}. ${builtIn}`,
    table(
      ['', ''],
      [
        ['Ports', ports.join(', ')],
        ['Keeps data', kind.keepsData ? 'yes' : 'no'],
        ['Variables', kind.injects.map((name) => `\`${name}\``).join(', ')],
        ['Credentials', kind.credentials === undefined ? 'none' : `\`GET /projects/{id}/${kind.name}/credentials\``],
      ],
    ),
    settings(kind),
  ].join('\n\n')
}

function settings({ settings: { stored } }: Pick<RuntimeType | ServiceType, 'settings'>): string {
  const fields = Object.entries(stored.shape as Record<string, { description?: string | undefined }>)
  return table(
    ['Setting', 'Meaning'],
    fields.map(([name, schema]) => [`\`${name}\``, schema.description ?? '']),
  )
}

function versions(kind: {
  readonly releases: readonly { readonly version: string; readonly endOfLife: string | null }[]
}): string {
  return kind.releases
    .map(({ version, endOfLife }) => (endOfLife === null ? version : `${version} (until ${endOfLife})`))
    .join(', ')
}
