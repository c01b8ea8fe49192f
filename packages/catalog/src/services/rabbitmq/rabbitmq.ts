import { dataPath } from '@stackquay/engine-api/workload'
import type { ServiceConnection, ServiceInput, ServiceType, WorkloadSpec } from '../../entry-types.ts'
import { servicePort } from '../../service-ports.ts'
import { serviceSettings } from '../../service-settings.ts'
import { username, virtualHost } from './account.ts'
import { environment, startNode } from './node.ts'
import { dataBlocker } from './upgrades.ts'

const nature = { keepsData: true, alwaysPublished: false } as const

/**
 * A broker of the project's own. What it has confirmed of durable queues survives a stop and a kill. A queue itself is
 * written down a moment after RabbitMQ has answered its declaration: one declared right before a kill may be missing.
 */
export const rabbitmq: ServiceType = {
  kind: 'service',
  name: 'rabbitmq',
  label: 'RabbitMQ',
  summary: 'Message broker with queues, exchanges and streams.',
  ports: [
    { name: 'amqp', port: 5672, published: true },
    { name: 'management', port: 15672, published: false, page: true },
  ],
  ...nature,
  forTests: 'none',
  settings: serviceSettings(nature, {}),
  toolchain: {
    name: 'rabbitmq',
    // Not from PATH: Debian's commands there are wrappers that serve only root and the user "rabbitmq".
    programs: [],
    // Beside it in each of these lies `rabbitmq-server`, which has no flag that prints a version and ends.
    places: [
      '/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-plugins',
      '/opt/rabbitmq_server-*/sbin/rabbitmq-plugins',
      '/usr/local/rabbitmq_server-*/sbin/rabbitmq-plugins',
      '/opt/homebrew/opt/rabbitmq/sbin/rabbitmq-plugins',
      '/usr/local/opt/rabbitmq/sbin/rabbitmq-plugins',
    ],
    // The command `version` would leave an epmd behind that never ends. This one tells which release it belongs to, too.
    versionArgs: ['directories', '--offline'],
    versionPattern: '^Plugin archives directory: (?:.*/)?rabbitmq(?:_server-|/)(\\d+(?:\\.\\d+){2})[^/]*/plugins',
  },
  image: {
    reference: (line) => `rabbitmq:${line}-management`,
    // The folder is what counts: `startNode` takes the server beside it.
    program: () => '/opt/rabbitmq/sbin/rabbitmq-plugins',
    user: 'rabbitmq',
    data: () => '/var/lib/rabbitmq',
  },
  // Ends of community support.
  releases: [
    { version: '4.3', endOfLife: '2026-11-30' },
    { version: '4.2', endOfLife: '2026-07-31' },
    { version: '4.1', endOfLife: '2026-01-31' },
    { version: '4.0', endOfLife: '2025-04-15' },
    { version: '3.13', endOfLife: '2024-09-18' },
    { version: '3.12', endOfLife: '2024-06-30' },
    { version: '3.11', endOfLife: '2023-12-31' },
    { version: '3.10', endOfLife: '2023-07-31' },
  ],
  lineOf: (version) => version.split('.').slice(0, 2).join('.'),
  install: {
    debian: 'apt-get install -y rabbitmq-server && systemctl disable --now rabbitmq-server',
    other: 'Install RabbitMQ 3.10 or later from rabbitmq.com/docs/download.',
  },
  secrets: [{ name: 'password', length: 32 }],
  injects: [
    'RABBITMQ_URL',
    'RABBITMQ_HOST',
    'RABBITMQ_PORT',
    'RABBITMQ_USER',
    'RABBITMQ_PASSWORD',
    'RABBITMQ_VHOST',
    'AMQP_URL',
  ],
  dataBlocker,
  toWorkload,
  variables: (connection) => ({
    RABBITMQ_URL: url(connection),
    RABBITMQ_HOST: connection.host,
    RABBITMQ_PORT: String(connection.port('amqp')),
    RABBITMQ_USER: username,
    RABBITMQ_PASSWORD: connection.secret('password'),
    RABBITMQ_VHOST: virtualHost,
    AMQP_URL: url(connection),
  }),
  credentials: (connection) => ({
    host: connection.host,
    port: connection.port('amqp'),
    username,
    password: connection.secret('password'),
    url: url(connection),
    managementUrl: `http://127.0.0.1:${connection.port('management')}/`,
  }),
}

function toWorkload(input: ServiceInput): WorkloadSpec {
  return {
    name: rabbitmq.name,
    title: rabbitmq.label,
    run: { kind: 'process', argv: startNode(input), cwd: dataPath(rabbitmq.name) },
    env: environment(input, dataPath(rabbitmq.name)),
    data: [{ name: rabbitmq.name }],
    ports: rabbitmq.ports.map(({ name }) => servicePort(input, name)),
    setup: [],
    requires: [],
    // A long backlog takes its time to be read after a kill, a busy machine several times that, and a port may have to be
    // waited for.
    health: { kind: 'tcp', port: 'amqp', timeoutSeconds: 300, greeting },
    restart: { kind: 'always' },
    stop: { signal: 'SIGTERM', deadlineSeconds: 60 },
    dependsOn: [],
  }
}

/** The header of AMQP 0-9-1, answered with a method on channel 0: connection.start. The port opens when all queues are back. */
const greeting = { send: btoa('AMQP\x00\x00\x09\x01'), expect: btoa('\x01\x00\x00') }

/** The virtual host is always said: without it some clients mean "/" and others one without a name, which does not exist. */
function url(connection: ServiceConnection) {
  const password = connection.secret('password', 'url')
  return [
    `amqp://${username}:`,
    ...(typeof password === 'string' ? [password] : password),
    `@${connection.host}:${connection.port('amqp')}/${encodeURIComponent(virtualHost)}`,
  ]
}
