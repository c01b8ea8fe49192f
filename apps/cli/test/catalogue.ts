import type { CallResult } from '@stackquay/contract'

type Item = CallResult<'listServices'>['items'][number]

const version = {
  version: '8',
  fullVersion: '8.0.1',
  default: true,
  available: true,
  reason: null,
  install: null,
  endOfLife: null,
}

export const readOnlyPort = {
  anyOf: [{ type: 'integer' }, { type: 'null' }],
  readOnly: true,
  description: 'Read-only.',
}

/** A kind that no catalogue has: what the commands know, they know from its schema. */
export function offeredService(rest: Partial<Item> = {}): Item {
  return {
    name: 'teapot',
    kind: 'service',
    label: 'Teapot',
    summary: 'Keeps tea warm.',
    aliases: ['kettle'],
    available: true,
    reason: null,
    install: null,
    versions: [version, { ...version, version: '7', default: false }],
    alwaysPublished: false,
    keepsData: true,
    hasCredentials: true,
    hasKeys: false,
    hasInbox: false,
    ports: [{ name: 'tea', port: 1188, published: true }],
    injects: ['TEA_URL'],
    settingsSchema: teapotSchema,
    ...rest,
  }
}

export const teapotSchema = {
  type: 'object',
  properties: {
    enabled: { type: 'boolean', description: 'On or off.' },
    version: { type: 'string', description: 'One that is offered.' },
    exposePort: { type: 'boolean', description: 'Publishes its port.' },
    degrees: { type: 'integer', minimum: 1, maximum: 100, description: 'How warm.' },
    strength: { type: 'number' },
    leaf: { type: 'string', enum: ['green', 'black'], description: 'Which leaves.' },
    note: { anyOf: [{ type: 'string' }, { type: 'null' }], description: 'What is said about it.' },
    guests: { type: 'array', items: { type: 'string' }, description: 'Who drinks.' },
    labels: { type: 'object', additionalProperties: { type: 'string' }, description: 'Free texts.' },
    external: {
      anyOf: [
        {
          type: 'object',
          properties: {
            host: { type: 'string', description: 'Where it stands.' },
            port: { $ref: '#/$defs/port' },
            password: { anyOf: [{ type: 'string' }, { type: 'null' }], description: 'What opens it.' },
            hasPassword: { type: 'boolean', readOnly: true },
          },
        },
        { type: 'null' },
      ],
      description: 'Use one that stands elsewhere.',
    },
    cup: { type: 'object', properties: { size: { type: 'integer' } } },
    hostPort: readOnlyPort,
    removeData: { type: 'boolean', writeOnly: true },
  },
  $defs: { port: { type: 'integer', minimum: 1, maximum: 65535, description: 'Where it listens.' } },
}

export const teapot = offeredService()
export const cellar = offeredService({
  name: 'cellar',
  kind: 'database',
  label: 'Cellar',
  aliases: [],
  available: false,
  reason: 'No Cellar was found.',
  install: 'apt-get install cellar',
})
export const catalogue = { engine: 'native', items: [teapot, cellar] }
