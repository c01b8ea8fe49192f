import { readFile, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import {
  type DetectedRuntime,
  type ProjectFacts,
  runtimeKinds,
  type Settings,
  SettingsError,
  type SourceFiles,
} from '@stackquay/catalog'
import { type ProjectSpec, type Resolved, resolveProject } from '@stackquay/domain'
import type { Store } from '@stackquay/store'
import type { Config } from '../config.ts'
import type { Catalogue } from './catalogue.ts'
import type { OurPrograms } from './our-programs.ts'

/** A project as far as resolving needs it; a project that is only planned has no leases and secrets yet. */
export interface Resolvable {
  readonly id: string
  readonly slug: string
  readonly path: string
  readonly spec: ProjectSpec
}

export interface Resolver {
  /**
   * Reads what the runtimes want to know of the source, then resolves. Secrets named in `rotated` count as changed, for a
   * look at what a rotation would do.
   */
  resolve(project: Resolvable, rotated?: readonly string[]): Promise<Resolved>
  /** What kinds may know of a project. */
  facts(project: Pick<Resolvable, 'id' | 'slug' | 'path'>): ProjectFacts
  /** What a source tree looks like it needs, surest first. */
  detect(folder: string): Promise<readonly { runtime: string; detected: DetectedRuntime }[]>
  url(slug: string, suffix?: string): string
  host(slug: string, suffix?: string): string
}

/** A file that is larger counts as there, without its content. */
const maxSourceFile = 1024 * 1024

export function createResolver(options: {
  readonly config: Config
  readonly store: Pick<Store, 'ports' | 'secrets'>
  readonly catalogue: Catalogue
  readonly programs: OurPrograms
}): Resolver {
  const { config, store, catalogue, programs } = options
  const host = (slug: string, suffix = '') => `${slug}${suffix}.${config.baseDomain}`
  const url = (slug: string, suffix = '') => {
    const port = config.proxy === null || config.proxy.port === 80 ? '' : `:${config.proxy.port}`
    return `http://${host(slug, suffix)}${port}`
  }

  const facts: Resolver['facts'] = ({ id, slug, path }) => ({
    id,
    slug,
    url: url(slug),
    path,
    toolsPath: join(config.home, 'tools', id),
    cachePath: join(config.home, 'tools', 'cache'),
  })

  return {
    host,
    url,
    facts,
    resolve: async (project, rotated = []) => {
      await catalogue.offers()
      const enabled = runtimeKinds.flatMap((kind) => {
        const settings = project.spec.runtimes[kind.name]
        return settings?.enabled === true ? kind.sourceFiles(settings) : []
      })
      const [source, leases, secrets] = await Promise.all([
        readSource(project.path, enabled),
        store.ports.of(project.id),
        store.secrets.of(project.id),
      ])
      return resolveProject(project.spec, {
        project: facts(project),
        source,
        toolchain: catalogue.toolchain,
        helpers: catalogue.helpers,
        lease: (workload, port) =>
          leases.find((lease) => lease.workload === workload && lease.port === port)?.hostPort ?? null,
        secret: (name) => {
          const handle = secrets[name]
          if (handle === undefined) return null
          return rotated.includes(name) ? { ...handle, version: handle.version + 1 } : handle
        },
        publishAddress: config.publishAddress,
        ourProgram: (name) => ({ node: catalogue.ourNode(), file: broughtFile(programs, name) }),
      })
    },
    detect: async (folder) => {
      const files = await readSource(folder, [
        ...new Set(
          runtimeKinds.flatMap((kind) =>
            kind.sourceFiles({ ...kind.settings.defaults(), version: '', port: 1 } as Settings),
          ),
        ),
      ])
      return runtimeKinds
        .flatMap((kind) => {
          const detected = kind.detect(files)
          return detected === null ? [] : [{ runtime: kind.name, detected }]
        })
        .sort((a, b) => b.detected.confidence - a.detected.confidence)
    },
  }
}

/** A full disk or a missing package is an obstacle for this one kind, never for the whole service. */
function broughtFile(programs: OurPrograms, name: string): string {
  try {
    return programs.file(name)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new SettingsError(
      'version',
      `Its program "${name}" could not be copied: ${why}`,
      'Mend that, then try again.',
    )
  }
}

/** What is there of the files that were asked for. A path that leads out of the folder, by a link too, is not there. */
async function readSource(folder: string, names: readonly string[]): Promise<SourceFiles> {
  if (names.length === 0) return {}
  const root = await realpath(folder).catch(() => null)
  if (root === null) return {}
  const entries = await Promise.all(
    [...new Set(names)].map(async (name): Promise<[string, string | true] | null> => {
      try {
        const path = await realpath(join(root, name))
        if (path !== root && !path.startsWith(root + sep)) return null
        const info = await stat(path)
        if (!info.isFile() || info.size > maxSourceFile) return [name, true]
        const bytes = await readFile(path)
        return [name, bytes.includes(0) ? true : bytes.toString('utf8')]
      } catch {
        return null
      }
    }),
  )
  return Object.fromEntries(entries.filter((entry) => entry !== null))
}
