import { z } from 'zod'
import { pageOf, Time } from './common.ts'

export const gitChangeKinds = ['modified', 'added', 'deleted', 'renamed', 'untracked'] as const
export type GitChangeKind = (typeof gitChangeKinds)[number]
export const gitPullManners = ['fast-forward', 'merge', 'reset'] as const
export type GitPullManner = (typeof gitPullManners)[number]

const visible = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .regex(/^[^\x00-\x1f\x7f]*$/, 'must not have control characters')
export const GitBranchName = visible(200).describe('Name of a branch.')
const Oid = z.string().regex(/^[0-9a-f]{40,64}$/, 'must be the whole id of a commit')
const Path = z
  .string()
  .min(1)
  .max(4096)
  .regex(/^[^\x00]*$/, 'must be a path')
const Paths = z.array(Path).min(1).max(2000)

const ChangeKind = z.enum(gitChangeKinds).nullable()
export const GitChange = z
  .object({
    path: z.string().describe('Below the folder of the project. Bytes that are no text are shown as �.'),
    from: z.string().nullable().describe('Where a renamed file was before.'),
    staged: ChangeKind,
    unstaged: ChangeKind,
    conflict: z.boolean(),
  })
  .meta({ id: 'GitChange' })
export type GitChange = z.infer<typeof GitChange>

const HostKey = z.object({ type: z.string(), fingerprint: z.string() }).meta({ id: 'GitHostKey' })

export const GitDeployKey = z
  .object({ publicKey: z.string().describe('For the forge, as in authorized_keys.'), fingerprint: z.string() })
  .meta({ id: 'GitDeployKey' })
export type GitDeployKey = z.infer<typeof GitDeployKey>

export const GitState = z
  .object({
    repository: z.boolean().describe('False: the folder of the project is no git repository, for the reason told.'),
    reason: z.string().nullable(),
    url: z.string().nullable().describe('What fetch, pull and push talk to.'),
    origin: z.string().nullable().describe('What the repository itself calls `origin`; nothing follows it.'),
    branch: z.string().nullable().describe('Null: the head is detached.'),
    commit: z.string().nullable().describe('Null before the first commit.'),
    upstream: z.string().nullable().describe('The remote branch, as of the last fetch.'),
    ahead: z.int().nullable(),
    behind: z.int().nullable(),
    doing: z
      .enum(['merge', 'rebase', 'cherry-pick', 'revert', 'bisect'])
      .nullable()
      .describe('Under way in a terminal.'),
    changed: z.array(GitChange).describe('At most 1000.'),
    changedTotal: z.int(),
    stashed: z.int(),
    submodules: z.array(z.string()).describe('Their paths. Nothing here updates them.'),
    lfsFiles: z.int().describe('Files of Git LFS. A checkout writes their pointers.'),
    shallow: z.boolean(),
    credentials: z
      .object({
        username: z.string().nullable().describe('Null: it stood in an address, where it may be a token itself.'),
        hasToken: z.boolean(),
      })
      .meta({ id: 'GitCredentials' })
      .nullable(),
    deployKey: GitDeployKey.nullable(),
    hostKeys: z.array(HostKey).describe('Remembered keys of the SSH server of `url`.'),
  })
  .meta({ id: 'GitState' })
export type GitState = z.infer<typeof GitState>

export const GitRemotePut = z
  .strictObject({
    url: z.string().min(1).max(2000).describe('https, http, ssh or git; without a password.'),
    username: visible(200).optional().describe('For a token; `git` when absent.'),
    token: visible(1000)
      .nullable()
      .optional()
      .describe('A token or password, kept sealed. Absent: as before; null: none.'),
  })
  .meta({ id: 'GitRemotePut' })
export type GitRemotePut = z.infer<typeof GitRemotePut>

export const GitDiff = z
  .object({
    files: z.array(
      z
        .object({
          path: z.string(),
          from: z.string().nullable(),
          added: z.int().nullable().describe('Lines; null for a binary file.'),
          removed: z.int().nullable(),
          binary: z.boolean(),
        })
        .meta({ id: 'GitDiffFile' }),
    ),
    patch: z.string(),
    truncated: z.boolean().describe('It is longer than 512 KiB, or has more than 1000 files.'),
  })
  .meta({ id: 'GitDiff' })
export type GitDiff = z.infer<typeof GitDiff>

export const GitCommitRecord = z
  .object({
    id: z.string(),
    parents: z.array(z.string()),
    author: z.object({ name: z.string(), email: z.string() }).meta({ id: 'GitPerson' }),
    at: Time,
    subject: z.string(),
    body: z.string(),
    refs: z.array(z.string()),
  })
  .meta({ id: 'GitCommitRecord' })
export type GitCommitRecord = z.infer<typeof GitCommitRecord>
export const GitLog = pageOf('GitLog', GitCommitRecord)

export const GitBranch = z
  .object({
    name: z.string(),
    remote: z.boolean().describe('A branch of `origin`, as of the last fetch.'),
    current: z.boolean(),
    commit: z.string(),
    subject: z.string(),
    at: Time,
  })
  .meta({ id: 'GitBranch' })
export type GitBranch = z.infer<typeof GitBranch>

export const GitPull = z
  .strictObject({
    manner: z
      .enum(gitPullManners)
      .optional()
      .describe(
        'fast-forward (the default) is refused where both sides have commits; merge merges; reset takes the remote and keeps what was here as a branch `kept/…`.',
      ),
  })
  .meta({ id: 'GitPull' })
export const GitCheckout = z
  .strictObject({
    branch: GitBranchName,
    create: z.boolean().optional().describe('Make the branch, from where the head is.'),
  })
  .meta({ id: 'GitCheckout' })
export const GitCommit = z
  .strictObject({
    message: z
      .string()
      .min(1)
      .max(20_000)
      .regex(/\S/, 'must say something')
      .regex(/^[^\x00]*$/, 'must be text'),
    paths: Paths.optional().describe('Everything that differs when absent.'),
    author: z
      .strictObject({
        name: visible(200).regex(/^[^<>]*$/, 'must not have < or >'),
        email: visible(200).regex(/^[^<>\s]+$/, 'must not have <, > or spaces'),
      })
      .meta({ id: 'GitAuthor' })
      .optional()
      .describe('Whoever asks when absent.'),
  })
  .meta({ id: 'GitCommit' })
export const GitPush = z
  .strictObject({
    branch: GitBranchName.optional().describe('The one that is checked out when absent.'),
    force: z
      .boolean()
      .optional()
      .describe('Replace what is there; only while that is what the last fetch showed (a lease).'),
  })
  .meta({ id: 'GitPush' })
export const GitDiscard = z.strictObject({ paths: Paths }).meta({ id: 'GitDiscard' })

export const GitDiffQuery = z.strictObject({
  path: Path.optional().describe('Of this file or folder alone.'),
  staged: z.enum(['true', 'false']).optional().describe('What is staged, instead of what is not.'),
  commit: Oid.optional().describe('What this commit changed.'),
})
