import { addonType, dependencyCycle } from '@stackquay/catalog'
import { type Addon, type AddonDefinition, engineNames, ProblemError } from '@stackquay/contract'
import type { Engine } from '@stackquay/engine-api'
import type { AddonRow, Store } from '@stackquay/store'
import type { Catalogue } from '../catalogue/catalogue.ts'
import { engineKind } from '../engine-kinds.ts'
import type { Handlers } from '../http/handler.ts'
import { refuseErrors } from '../projects/prepare.ts'
import type { Workers } from '../workers/workers.ts'
import type { AddonsKeeper } from './keeper.ts'
import { readAddonFile } from './read-addon-file.ts'
import { type AddonUse, usesOf } from './uses.ts'

export interface AddonDeps {
  readonly store: Store
  readonly engine: Pick<Engine, 'dataNames'>
  readonly workers: Pick<Workers, 'run'>
  readonly catalogue: Pick<Catalogue, 'refresh'>
  readonly addons: AddonsKeeper
}

/** Services that administrators add as files. */
export function addonHandlers(deps: AddonDeps): Pick<Handlers, 'listAddons' | 'getAddon' | 'addAddon' | 'deleteAddon'> {
  const { store, workers } = deps
  return {
    listAddons: async (_input, { signal }) => {
      const rows = await store.addons.all()
      const items = await Promise.all(
        rows.map(async (row) => view(row, await usesOf(row.name, row.definition, deps, signal))),
      )
      return { status: 200, body: { items } }
    },

    getAddon: async ({ params }, { signal }) => {
      const row = await find(store, params.name)
      return {
        status: 200,
        body: { ...view(row, await usesOf(row.name, row.definition, deps, signal)), yaml: row.yaml },
      }
    },

    addAddon: async ({ body, query }, context) => {
      const definition = await readAddonFile(workers, body.yaml)
      const before = await store.addons.find(definition.name)
      refuseErrors(cycleFaults(definition, await store.addons.all()))
      const uses = await usesOf(definition.name, definition, deps, context.signal)
      const status = before === null ? (201 as const) : (200 as const)
      if (query.validate === true) {
        const at = new Date().toISOString()
        return {
          status: 200,
          body: view(
            { createdAt: at, updatedAt: at, ...before, name: definition.name, yaml: body.yaml, definition },
            uses,
          ),
        }
      }
      await store.transaction(async (tx) => {
        await tx.addons.put({ name: definition.name, yaml: body.yaml, definition })
        const after = { title: definition.title, versions: definition.versions.map(({ version }) => version) }
        await tx.audit.append(context.audit({ action: 'addon.write', target: definition.name, changes: { after } }))
        // Whoever looks at a project that uses it is told that it goes on with an earlier definition.
        for (const { project, slug, outdated } of uses)
          if (outdated) await tx.events.append({ type: 'project.changed', project, data: { id: project, slug } })
      })
      await changed(deps)
      return { status, body: view(await find(store, definition.name), uses) }
    },

    deleteAddon: async ({ params }, context) => {
      const row = await find(store, params.name)
      const uses = await usesOf(row.name, row.definition, deps, context.signal)
      refuseUsed(
        row,
        uses.filter(({ enabled, hasData }) => enabled || hasData),
      )
      await store.transaction(async (tx) => {
        await tx.addons.delete(row.name)
        await tx.audit.append(
          context.audit({
            action: 'addon.delete',
            target: row.name,
            changes: { before: { title: row.definition.title } },
          }),
        )
      })
      await changed(deps)
      return { status: 204, body: undefined }
    },
  }
}

async function changed({ addons, catalogue }: AddonDeps): Promise<void> {
  await addons.changed()
  await catalogue.refresh()
}

async function find(store: Store, name: string): Promise<AddonRow> {
  const row = await store.addons.find(name)
  if (row === null) throw new ProblemError('not_found', `There is no addon "${name}".`)
  return row
}

function refuseUsed({ name }: AddonRow, used: readonly AddonUse[]): void {
  if (used.length === 0) return
  const who = used.map(({ slug, enabled }) => (enabled ? slug : `${slug} (its data is kept)`)).join(', ')
  throw new ProblemError('conflict', `The addon "${name}" is in use: ${who}.`, {
    hint: 'Switch it off there and delete its kept data first.',
  })
}

function cycleFaults(definition: AddonDefinition, all: readonly AddonRow[]) {
  const others = all.filter(({ name }) => name !== definition.name).map((row) => row.definition)
  const cycle = dependencyCycle([definition, ...others])
  if (cycle === null) return []
  return [
    {
      pointer: '/yaml',
      code: 'dependency_cycle',
      detail: `These addons would wait for each other: ${cycle.join(' → ')}.`,
    },
  ]
}

function view({ name, definition, createdAt, updatedAt }: AddonRow, uses: readonly AddonUse[]): Addon {
  const { title, description, homepage = null, versions } = definition
  const { needs } = addonType(definition)
  const engines = engineNames.filter(
    (engine) => needs === undefined || (needs === 'images') === engineKind(engine).capabilities.images,
  )
  return {
    ...{ name, title, description, homepage, versions: versions.map(({ version }) => version) },
    ...{ engines: [...engines], usedBy: [...uses], createdAt, updatedAt },
  }
}
