import { type Domain, ProblemError } from '@stackquay/contract'
import { displayOf, type ExtraHost, ownNameBlocker, readHostName } from '@stackquay/domain'
import { type DomainRow, type ProjectRow, type Store, TakenError, type Transaction } from '@stackquay/store'
import type { Config } from '../config.ts'
import type { Handlers, RequestContext } from '../http/handler.ts'
import type { Network } from '../network/network.ts'
import { formerHosts } from '../projects/hosts-of-project.ts'
import type { Known, Model } from '../projects/model.ts'
import type { Resolver } from '../projects/resolver.ts'

export interface DomainDeps {
  readonly store: Store
  readonly model: Model
  readonly resolver: Resolver
  readonly network: Network
  readonly config: Pick<Config, 'baseDomain'>
  /** Ends when the proxy has taken the change, or a while has passed. */
  published(project: string): Promise<void>
}

/** Names of a project. A name belongs to one project at a time, whoever asks first. */
export function domainHandlers(deps: DomainDeps): Pick<Handlers, 'listDomains' | 'addDomain' | 'removeDomain'> {
  const { store, model, resolver, network, config, published } = deps

  const find = async (idOrSlug: string): Promise<Known> => {
    const row = await store.projects.find(idOrSlug)
    if (row === null) throw new ProblemError('not_found', `There is no project "${idOrSlug}".`)
    return model.find(row.id) ?? (await model.renew(row.id))
  }

  return {
    listDomains: async ({ params }) => {
      const known = await find(params.id)
      const own = [
        automatic(resolver, known.row, { prefix: '', suffix: '' }, null),
        ...known.resolved.extraHosts.map((extra) => automatic(resolver, known.row, extra, extra.workload)),
      ]
      const ofProject = network.of(known.row.id)
      const former = formerHosts(known, ofProject, resolver).map(({ host, until }) => ({
        ...named(host, null, resolver),
        redirectsUntil: until,
      }))
      const given = ofProject.domains.map((row) => domainView(row, resolver))
      return { status: 200, body: { items: [...own, ...given, ...former] } }
    },

    addDomain: async ({ params, body }, context) => {
      const { row, resolved } = await find(params.id)
      const host = hostOf(body.host)
      const blocker = ownNameBlocker(host, row.slug, config)
      if (blocker !== null) throw refused('/host', 'not_yours', blocker)
      const workload = body.workload ?? null
      if (workload !== null) checkWorkload(workload, resolved)
      const domain = await store
        .transaction(async (tx) => {
          const made = await tx.network.addDomain({ host, project: row.id, workload })
          await tx.audit.append(
            context.audit({
              action: 'domain.add',
              target: row.slug,
              project: row.id,
              changes: { after: { host, workload } },
            }),
          )
          await tx.events.append(changed(row))
          return made
        })
        .catch(async (error: unknown) => {
          if (!(error instanceof TakenError)) throw error
          throw await heldElsewhere(host, row, error.holder)
        })
      await network.renew(row.id)
      await published(row.id)
      return { status: 201, body: domainView(domain, resolver) }
    },

    removeDomain: async ({ params }, context) => {
      const { row } = await find(params.id)
      const host = hostOf(params.host)
      await store.transaction((tx) => remove(tx, row, host, context, deps))
      await network.renew(row.id)
      await published(row.id)
      return { status: 204 }
    },
  }

  /** The holder is named to those who may see it, and to nobody else. */
  async function heldElsewhere(host: string, row: ProjectRow, holder: string | null): Promise<ProblemError> {
    const other = holder === null ? null : await store.projects.find(holder)
    if (other?.id === row.id) return new ProblemError('conflict', `The project has the name "${host}" already.`)
    return new ProblemError('conflict', `The name "${host}" belongs to another project.`, {
      hint: 'Remove it there first, or choose another.',
    })
  }
}

/** A name that was given, or one of before a rename, and with it all of that time. */
async function remove(
  tx: Transaction,
  row: ProjectRow,
  host: string,
  context: Pick<RequestContext, 'audit'>,
  { store, resolver }: DomainDeps,
): Promise<void> {
  const former = (await store.network.formerSlugs(row.id)).find(({ slug }) => resolver.host(slug) === host)
  const domain = await store.network.domain(host)
  if (former !== undefined) await tx.network.removeFormerSlug(former.slug)
  else if (domain?.project === row.id) await tx.network.removeDomain(host)
  else
    throw new ProblemError('not_found', `The project "${row.slug}" has no extra name "${host}".`, {
      hint: 'GET …/domains lists its names. Those that come with the project cannot be removed.',
    })
  const before = former === undefined ? { host, workload: domain?.workload } : { host, redirectsUntil: former.until }
  const changes = { before }
  await tx.audit.append(context.audit({ action: 'domain.remove', target: row.slug, project: row.id, changes }))
  await tx.events.append(changed(row))
}

/** Only what has a page can be shown. */
export function checkWorkload(workload: string, resolved: Known['resolved']): void {
  const pages = resolved.workloads.filter(({ ports }) => ports.some((port) => port.name === 'http'))
  const names = pages.map(({ ref }) => ref.workload)
  if (names.includes(workload)) return
  const there = names.length === 0 ? 'It has none with a page.' : `There is ${names.join(', ')}.`
  throw refused('/workload', 'unknown_workload', `The project has no workload "${workload}" with a page. ${there}`)
}

function hostOf(text: string): string {
  const read = readHostName(text)
  if (read.ok) return read.host
  throw refused('/host', read.code, read.detail)
}

export function refused(pointer: string, code: string, detail: string): ProblemError {
  return new ProblemError('validation_failed', detail, { errors: [{ pointer, code, detail }] })
}

export function changed({ id, slug, generation }: ProjectRow) {
  return { type: 'project.changed', project: id, data: { id, slug, generation } } as const
}

function automatic(
  resolver: Resolver,
  { slug }: ProjectRow,
  { prefix, suffix }: Pick<ExtraHost, 'prefix' | 'suffix'>,
  workload: string | null,
): Domain {
  return { ...named(resolver.host(slug, suffix, prefix), workload, resolver), automatic: true }
}

function domainView({ host, workload, createdAt }: DomainRow, resolver: Resolver): Domain {
  return { ...named(host, workload, resolver), createdAt }
}

function named(host: string, workload: string | null, resolver: Resolver): Domain {
  return {
    host,
    display: displayOf(host),
    automatic: false,
    redirectsUntil: null,
    workload,
    url: resolver.urlOf(host),
    createdAt: null,
  }
}
