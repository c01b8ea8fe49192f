import { z } from 'zod'
import { databaseNamePattern } from './names.ts'

export const pullNamePattern = /^[a-z][a-z0-9-]{0,29}$/

/** Texts of secrets are never in settings: a source names secret variables. In capitals, so that hardly a password that is typed here passes for one. */
const Variable = z.string().regex(/^[A-Z_][A-Z0-9_]{0,127}$/, 'must be the name of a secret variable, in capitals')

export const PullDatabase = z
  .strictObject({
    command: z
      .array(z.string().max(4000))
      .min(1)
      .max(50)
      .optional()
      .describe('ssh: words of a command that writes a dump to its output.'),
    path: z.string().min(1).max(1000).optional().describe('ssh: a file. s3: a key below the prefix.'),
    newest: z.string().max(1000).optional().describe('s3: the newest object whose key begins like this.'),
    database: z.string().regex(databaseNamePattern).optional().describe('stackquay: its name there.'),
  })
  .meta({ id: 'PullDatabase' })
export type PullDatabase = z.infer<typeof PullDatabase>

export const PullSource = z
  .strictObject({
    from: z
      .string()
      .min(1)
      .max(500)
      .describe('ssh://user@host:port, s3://bucket/prefix, or the https:// address of another Stackquay.'),
    project: z.string().min(1).max(60).optional().describe('stackquay: id or slug of the project there.'),
    token: Variable.optional().describe('stackquay: the secret variable with a token of scope operate.'),
    key: Variable.optional().describe('ssh: the secret variable with the private key.'),
    passphrase: Variable.optional().describe('ssh: that with the passphrase of the key.'),
    password: Variable.optional().describe('ssh: that with a password, in place of a key.'),
    hostKey: z
      .string()
      .regex(/^([a-z0-9-]+ )?SHA256:[A-Za-z0-9+/]{43}$/, 'must be like SHA256:…, as ssh-keygen -l prints it')
      .optional()
      .describe('ssh: the key that the machine must show. A dry run tells it.'),
    endpoint: z.string().max(500).optional().describe('s3: https://… of the storage; absent: Amazon’s own.'),
    region: z.string().max(60).optional().describe('s3: default us-east-1.'),
    accessKeyId: Variable.optional().describe('s3: the secret variable with the access key.'),
    secretAccessKey: Variable.optional().describe('s3: that with its secret.'),
    databases: z.record(z.string().regex(databaseNamePattern), PullDatabase).optional(),
    files: z
      .record(z.string().min(1).max(500), z.string().max(1000))
      .optional()
      .describe('Folders of the source, and where each comes from: a folder there, or a prefix of keys.'),
  })
  .meta({ id: 'PullSource' })
export type PullSource = z.infer<typeof PullSource>

export const PullPart = z
  .string()
  .max(520)
  .regex(/^(database:[a-z][a-z0-9_]{0,30}|files:.+)$/)
  .describe('database:main, files:storage/app')

export const PullRequest = z
  .strictObject({
    source: z.string().max(30).describe('Its name in the settings.'),
    parts: z.array(PullPart).min(1).max(100).optional().describe('Only these.'),
    confirm: z.string().max(60).describe('The slug of the project, typed.'),
  })
  .meta({ id: 'PullRequest' })
