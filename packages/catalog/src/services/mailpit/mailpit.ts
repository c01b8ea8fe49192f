import { dataPath } from '@stackquay/engine-api/workload'
import type { ServiceConnection, ServiceInput, ServiceType, WorkloadSpec } from '../../entry-types.ts'
import { servicePort } from '../../service-ports.ts'
import { serviceSettings } from '../../service-settings.ts'
import { builtInBackup } from '../built-in-backup.ts'
import { nodeImage } from '../node-image.ts'
import { inboxSecret } from './inbox.ts'

/** Mail of a project in development must not leave the machine: a built-in program takes and shows it. */
export const mailpit: ServiceType = {
  kind: 'service',
  name: 'mailpit',
  label: 'Mail catcher',
  summary: 'Takes every mail the project sends, delivers none, and shows them. Keeps the newest 10,000, 2 GiB at most.',
  ports: [
    { name: 'smtp', port: 1025, published: false },
    { name: 'web', port: 8025, published: true, page: true },
  ],
  alwaysPublished: true,
  keepsData: true,
  forTests: 'own',
  settings: serviceSettings({ keepsData: true, alwaysPublished: true }, {}),
  toolchain: null,
  image: nodeImage,
  releases: [{ version: '1', endOfLife: null }],
  lineOf: (version) => version.split('.')[0] ?? version,
  install: { debian: 'Nothing to install.', other: 'Nothing to install.' },
  secrets: [{ name: inboxSecret, length: 40 }],
  injects: ['SMTP_HOST', 'SMTP_PORT', 'MAIL_URL', 'MAILER_DSN'],
  // One line, whose index carries a version of its own.
  dataBlocker: () => null,
  toWorkload,
  variables: (connection) => ({
    SMTP_HOST: connection.host,
    SMTP_PORT: String(connection.port('smtp')),
    MAIL_URL: url(connection),
    MAILER_DSN: url(connection),
  }),
  inboxPort: 'web',
  backup: builtInBackup('mailpit', 'web', inboxSecret),
}

function toWorkload(input: ServiceInput): WorkloadSpec {
  const { node, file } = input.ourProgram('mail-catcher')
  return {
    name: mailpit.name,
    title: mailpit.label,
    run: {
      kind: 'process',
      argv: [
        node,
        // SQLite of this Node is not called stable yet; the log has no use for saying so at each start.
        '--disable-warning=ExperimentalWarning',
        file,
        '--data',
        dataPath(mailpit.name),
        ...mailpit.ports.flatMap(({ name }) => listenWords(input, name)),
        ...shownAt(input),
        ...namesOf(input).flatMap((name) => ['--name', name]),
        ...(input.pageHost === undefined ? [] : ['--page-name', input.pageHost]),
      ],
      cwd: dataPath(mailpit.name),
    },
    env: { INBOX_API_KEY: input.secret(inboxSecret) },
    data: [{ name: mailpit.name }],
    ports: mailpit.ports.map(({ name }) => servicePort(input, name)),
    setup: [],
    requires: [],
    // It answers only after SMTP listens and the index is open.
    health: { kind: 'http', port: 'web', path: '/-/health', status: [200, 200], timeoutSeconds: 120 },
    restart: { kind: 'always' },
    stop: { signal: 'SIGTERM', deadlineSeconds: 30 },
    dependsOn: [],
  }
}

function listenWords(input: ServiceInput, name: string): readonly string[] {
  const { address, port } = input.listen(name)
  return [`--${name}-port`, String(port), `--${name}-host`, address]
}

/** Browsers name the port of this machine, and the page is served under that name alone: see `catcher/guard.ts`. */
function shownAt(input: ServiceInput): readonly string[] {
  const shown = input.hostPort('web')
  return shown === input.listen('web').port ? [] : ['--shown-port', String(shown)]
}

/** Where the instance is reached by a domain, so is the web port: by the project's name, and by the domain itself. */
function namesOf({ project }: ServiceInput): readonly string[] {
  const name = new URL(project.url).hostname
  const domain = name.slice(name.indexOf('.') + 1)
  return domain.includes('.') ? [name, domain] : [name]
}

function url(connection: ServiceConnection): string {
  return `smtp://${connection.host}:${connection.port('smtp')}`
}
