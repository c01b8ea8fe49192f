import type { ServiceType } from '@stackquay/catalog'
import { ProblemError } from '@stackquay/contract'
import { servicePageOf, servicePointer, serviceSecret, serviceTypeIn, serviceTypesOf } from '@stackquay/domain'
import type { Engine, SecretRef } from '@stackquay/engine-api'
import type { ProjectRow, Store } from '@stackquay/store'
import type { Handlers } from '../http/handler.ts'
import type { ProjectAnswers } from './answers.ts'
import { type ChangeDeps, usesData } from './change-project.ts'
import { serviceFields } from './given-fields.ts'
import { type Given, onceGiven } from './once-given.ts'
import type { Resolver } from './resolver.ts'
import { revealFields } from './reveal-fields.ts'

type ServiceHandlers = Pick<
  Handlers,
  'listExtras' | 'deleteKeptData' | 'getServiceCredentials' | 'rotateServiceCredentials'
>

export interface ServiceDeps extends Pick<ChangeDeps, 'store' | 'resolver'> {
  readonly engine: Pick<Engine, 'data' | 'dataNames'>
  reveal(ref: SecretRef): Promise<string>
}

export function serviceHandlers(
  { store, resolver, engine, reveal }: ServiceDeps,
  { find, holds, change }: ProjectAnswers,
): ServiceHandlers {
  return {
    listExtras: async ({ params }, context) => {
      const row = await find(params.id)
      const [data, kept] = await Promise.all([engine.data(row.id, context.signal), store.keptData.of(row.id)])
      const services = Object.entries(row.spec.services)
      return {
        status: 200,
        body: {
          services: services.map(([kind, { enabled, version }]) => ({
            ...{ kind, enabled, version },
            pageUrl: pageUrlOf(row, kind, resolver),
          })),
          keptData: keptDataOf(row, data, kept),
        },
      }
    },

    deleteKeptData: async ({ params, query }, context) => {
      const row = await find(params.id)
      holds(row, context)
      const settings = row.spec.services[params.kind]
      const kind = serviceTypeIn(row.spec, params.kind)
      const bodyOf = (sent: object) =>
        kind?.under === undefined ? { [params.kind]: sent } : { [kind.under]: { [params.kind]: sent } }
      if (settings !== undefined && usesData(params.kind, settings))
        throw new ProblemError('conflict', `The data is in use: "${params.kind}" is enabled.`, {
          hint: `Disable it first: PATCH ${JSON.stringify(bodyOf({ enabled: false }))}; with "removeData": true its data goes too.`,
        })
      const data = await engine.dataNames(row.id, context.signal)
      if (!data.includes(params.kind)) throw new ProblemError('not_found', `There is no kept data of "${params.kind}".`)
      if (kind === undefined) throw new ProblemError('not_found', `The project has no service "${params.kind}".`)
      const patch = bodyOf({ enabled: false, removeData: true })
      return change(row, patch, context, 'service.data.delete', query, { purge: query.purge })
    },

    getServiceCredentials: async ({ params }, context) => {
      const row = await find(params.id)
      const { kind, settings } = serviceOf(row, params.service)
      const notGiven = `${kind.label} was not started yet; it gets its port and credentials then.`
      const fieldsOf = (given: Given) => serviceFields(kind, { row, settings, resolver }, given, notGiven)
      const shown = await revealFields(await onceGiven(row.id, fieldsOf, store, context.signal), reveal)
      await store.transaction((tx) =>
        tx.audit.append(
          context.audit({ action: 'service.credentials.read', target: `${row.slug}/${kind.name}`, project: row.id }),
        ),
      )
      return { status: 200, body: shown }
    },

    rotateServiceCredentials: async ({ params, query }, context) => {
      const row = await find(params.id)
      holds(row, context)
      const { kind, settings } = serviceOf(row, params.service)
      if (kind.runsHere?.(settings) === false)
        throw new ProblemError('validation_failed', `${kind.label} runs elsewhere; change its credentials there.`, {
          hint: 'Then send the new ones in the settings of the service.',
        })
      const secrets = kind.secrets.map(({ name, length }) => ({ name: serviceSecret(kind.name, name), length }))
      const rotates = { workload: kind.name, pointer: servicePointer(kind), secrets }
      return change(row, {}, context, 'service.credentials.rotate', query, { rotates })
    },
  }
}

/** Data of services that are switched off or were never there by their name in the settings. */
function keptDataOf(
  { spec }: ProjectRow,
  data: Awaited<ReturnType<Engine['data']>>,
  kept: Awaited<ReturnType<Store['keptData']['of']>>,
) {
  return serviceTypesOf(spec).flatMap(({ name: kind }) => {
    const there = data.find(({ name }) => name === kind)
    const settings = spec.services[kind]
    if (there === undefined || (settings !== undefined && usesData(kind, settings))) return []
    const known = kept.find(({ name }) => name === kind)
    return [{ kind, version: known?.version ?? null, sizeBytes: there.sizeBytes, keptAt: known?.keptAt ?? null }]
  })
}

/** Null while there is nothing to open. */
export function pageUrlOf(
  { slug, spec }: Pick<ProjectRow, 'slug' | 'spec'>,
  name: string,
  { pageOf, hasProxy }: Pick<Resolver, 'pageOf' | 'hasProxy'>,
): string | null {
  const [kind, settings] = [serviceTypeIn(spec, name), spec.services[name]]
  const isHere = settings?.enabled === true && kind?.runsHere?.(settings) !== false
  return hasProxy && isHere && kind !== undefined && servicePageOf(kind) !== null ? pageOf(slug, name).url : null
}

function serviceOf(
  row: ProjectRow,
  name: string,
): { kind: ServiceType; settings: ProjectRow['spec']['services'][string] } {
  const kind = serviceTypeIn(row.spec, name)
  const settings = row.spec.services[name]
  if (kind === undefined || settings === undefined)
    throw new ProblemError('not_found', `The project has no service "${name}".`)
  return { kind, settings }
}
