import { dataPath } from '@stackquay/engine-api/workload'
import { z } from 'zod'
import type { ServiceConnection, ServiceInput, ServiceType, WorkloadSpec } from '../../entry-types.ts'
import { servicePort } from '../../service-ports.ts'
import { serviceSettings } from '../../service-settings.ts'
import { builtInBackup } from '../built-in-backup.ts'
import { nodeImage } from '../node-image.ts'

/** An S3 endpoint that is a built-in program; what it does and does not do is in `docs/storage.md`. */
export const storage: ServiceType = {
  kind: 'service',
  name: 'storage',
  label: 'Object storage',
  summary: 'Keeps files behind the API of Amazon S3, with one bucket to begin with.',
  ports: [{ name: 'http', port: 9000, published: true }],
  alwaysPublished: false,
  keepsData: true,
  forTests: 'own',
  hostLabel: 'storage',
  settings: serviceSettings(
    { keepsData: true, alwaysPublished: false },
    {
      publicRead: z
        .boolean()
        .describe(
          'Whether everybody may read the objects of the bucket. Counts when the bucket is made; private unless told.',
        ),
    },
    { publicRead: false },
    { ofData: ['publicRead'] },
  ),
  toolchain: null,
  image: nodeImage,
  releases: [{ version: '1', endOfLife: null }],
  lineOf: (version) => version.split('.')[0] ?? version,
  install: { debian: 'Nothing to install.', other: 'Nothing to install.' },
  secrets: [
    { name: 'accessKey', length: 20 },
    { name: 'secretKey', length: 40 },
  ],
  injects: [
    'S3_ENDPOINT',
    'S3_BUCKET',
    'AWS_ENDPOINT_URL_S3',
    'AWS_ACCESS_KEY_ID',
    'AWS_SECRET_ACCESS_KEY',
    'AWS_REGION',
    'AWS_DEFAULT_REGION',
  ],
  // One line, whose data carries a format of its own.
  dataBlocker: () => null,
  toWorkload,
  variables: (connection) => ({
    S3_ENDPOINT: endpoint(connection),
    S3_BUCKET: bucket,
    // With these, SDKs and the command line find the storage without a word in the application; Python reads the second region.
    AWS_ENDPOINT_URL_S3: endpoint(connection),
    AWS_ACCESS_KEY_ID: connection.secret('accessKey'),
    AWS_SECRET_ACCESS_KEY: connection.secret('secretKey'),
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
  }),
  credentials: (connection) => ({
    accessKey: connection.secret('accessKey'),
    secretKey: connection.secret('secretKey'),
    endpoint: endpoint(connection),
    bucket,
    region,
  }),
  backup: builtInBackup('storage', 'http', 'secretKey'),
}

/**
 * The same in every project: a project's slug can change, and its data is copied to other projects, so a bucket named after
 * it would one day have the name of another.
 */
const bucket = 'app'

const region = 'us-east-1'

function toWorkload(input: ServiceInput): WorkloadSpec {
  const { node, file } = input.ourProgram('object-storage')
  const { address, port } = input.listen('http')
  return {
    name: storage.name,
    title: storage.label,
    run: {
      kind: 'process',
      argv: [
        node,
        // SQLite of this Node is not called stable yet; the log has no use for saying so at each start.
        '--disable-warning=ExperimentalWarning',
        file,
        '--data',
        dataPath(storage.name),
        '--port',
        String(port),
        '--host',
        address,
        '--bucket',
        bucket,
        ...(input.settings.publicRead === true ? ['--public-read'] : []),
      ],
      cwd: dataPath(storage.name),
    },
    env: {
      STORAGE_ACCESS_KEY: input.secret('accessKey'),
      STORAGE_SECRET_KEY: input.secret('secretKey'),
      // SQLite puts what does not fit into memory beside the data, not into a folder that others share.
      HOME: dataPath(storage.name),
      SQLITE_TMPDIR: dataPath(storage.name),
    },
    data: [{ name: storage.name }],
    ports: [servicePort(input, 'http')],
    setup: [],
    requires: [],
    // It listens only when the data is open and the bucket is there.
    health: { kind: 'http', port: 'http', path: '/-/health', status: [200, 200], timeoutSeconds: 120 },
    restart: { kind: 'always' },
    // What is under way may take 20 seconds to end.
    stop: { signal: 'SIGTERM', deadlineSeconds: 30 },
    dependsOn: [],
  }
}

function endpoint(connection: ServiceConnection): string {
  return `http://${connection.host}:${connection.port('http')}`
}
