import { databaseTypeOf } from '@stackquay/catalog'
import { ProblemError, type SshKeyView, visibleText } from '@stackquay/contract'
import { newId, type ProjectRow, type SshKeyRow, type Store, TakenError } from '@stackquay/store'
import { sessionOf } from '../access/session-of.ts'
import type { Config } from '../config.ts'
import type { Handlers } from '../http/handler.ts'
import type { Resolver } from '../projects/resolver.ts'
import { placesOf } from '../terminals/environment.ts'
import type { HostKey } from './host-key.ts'
import { readPublicKey } from './public-key.ts'
import type { SshState } from './server.ts'
import { projectSsh } from './view.ts'

export interface SshHandlersDeps {
  readonly store: Pick<Store, 'sshKeys' | 'projects' | 'transaction'>
  readonly resolver: Pick<Resolver, 'commands'>
  readonly config: Pick<Config, 'ssh' | 'publicUrl'>
  readonly ssh: { readonly hostKey: HostKey; state(): SshState }
}

const mostKeys = 100

/** The keys of a person, and how a project is reached. */
export function sshHandlers({ store, resolver, config, ssh }: SshHandlersDeps) {
  return {
    async listSshKeys({ query }, context) {
      const { limit = 50, cursor = '' } = query
      const rows = (await store.sshKeys.of(sessionOf(context).user.id)).filter(({ id }) => id > cursor)
      const items = rows.slice(0, limit).map(viewOf)
      return { status: 200, body: { items, nextCursor: rows.length > limit ? items.at(-1)!.id : null } }
    },

    async addSshKey({ body }, context) {
      const { user } = sessionOf(context)
      const { type, publicKey, fingerprint, comment } = await readPublicKey(body.publicKey)
      const own = await store.sshKeys.of(user.id)
      if (own.length >= mostKeys)
        throw new ProblemError('conflict', `You have ${own.length} keys, and no more than ${mostKeys} are kept.`, {
          hint: 'Remove one that you do not use.',
        })
      const name = body.name ?? nameIn(comment)
      const row = await store
        .transaction(async (tx) => {
          const inserted = await tx.sshKeys.insert({
            id: newId('key'),
            user: user.id,
            name,
            type,
            publicKey,
            fingerprint,
          })
          const changes = { after: { id: inserted.id, name, type, fingerprint } }
          await tx.audit.append(context.audit({ action: 'ssh_key.add', target: name, changes }))
          return inserted
        })
        .catch((error: unknown) => {
          if (!(error instanceof TakenError)) throw error
          throw new ProblemError('conflict', 'The key is added already: a key belongs to one person.', {
            hint: 'When it is not in your list, make another: ssh-keygen -t ed25519.',
          })
        })
      return { status: 201, body: viewOf(row) }
    },

    async removeSshKey({ params }, context) {
      const row = await store.sshKeys.find(params.kid)
      if (row === null || row.user !== sessionOf(context).user.id)
        throw new ProblemError('not_found', `You have no key "${params.kid}".`)
      await store.transaction(async (tx) => {
        await tx.sshKeys.delete(row.id)
        const { id, name, type, fingerprint } = row
        const changes = { before: { id, name, type, fingerprint } }
        await tx.audit.append(context.audit({ action: 'ssh_key.remove', target: name, changes }))
      })
      return { status: 204 }
    },

    async getProjectSsh({ params }) {
      const project = await store.projects.find(params.id)
      if (project === null) throw new ProblemError('not_found', `There is no project "${params.id}".`)
      const places = placesOf(await resolver.commands(project))
      const workloads = places.map(({ name }) => name).filter((name) => name !== 'project')
      const state = ssh.state()
      const { host, port } = reachedAt(config, state)
      return {
        status: 200,
        body: projectSsh(
          project.slug,
          { workloads, database: firstDatabase(project.spec.databases) },
          { host, port, state, hostKey: ssh.hostKey },
        ),
      }
    },
  } satisfies Partial<Handlers>
}

function firstDatabase(databases: ProjectRow['spec']['databases']) {
  for (const [name, { type }] of Object.entries(databases)) {
    const port = databaseTypeOf(type)?.port
    if (port !== undefined) return { name, port }
  }
  return null
}

/** Where people reach the listener: a wildcard address is reached by the name of the page. */
export function reachedAt(
  { ssh, publicUrl }: Pick<Config, 'ssh' | 'publicUrl'>,
  state: SshState,
): { readonly host: string; readonly port: number } {
  const { host, port } = ssh ?? { host: '127.0.0.1', port: 8722 }
  const isAny = host === '0.0.0.0' || host === '::'
  const shown = isAny ? new URL(publicUrl).hostname.replace(/^\[|\]$/g, '') : host
  return { host: shown, port: state.kind === 'listening' ? state.port : port }
}

/** A comment is somebody’s text: what cannot be in a name of a key is left out. */
function nameIn(comment: string): string {
  const name = visibleText(comment.normalize('NFC')).replace(/[()]/g, '').trim().slice(0, 60)
  return name === '' ? 'key' : name
}

function viewOf({ id, name, type, fingerprint, createdAt, lastUsedAt }: SshKeyRow): SshKeyView {
  return { id, name: visibleText(name), type, fingerprint, createdAt, lastUsedAt }
}
