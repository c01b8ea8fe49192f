import { readFile, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { type DetectedRuntime, runtimeKinds, type Settings, type SourceFiles } from '@stackquay/catalog'
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
  /** Reads what the runtimes want to know of the source, then resolves. */
  resolve(project: Resolvable): Promise<Resolved>
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

  return {
    host,
    url,
    resolve: async (project) => {
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
        project: {
          id: project.id,
          slug: project.slug,
          url: url(project.slug),
          path: project.path,
          toolsPath: join(config.home, 'tools', project.id),
          cachePath: join(config.home, 'tools', 'cache'),
        },
        source,
        toolchain: catalogue.toolchain,
        helpers: catalogue.helpers,
        lease: (workload, port) =>
          leases.find((lease) => lease.workload === workload && lease.port === port)?.hostPort ?? null,
        secret: (name) => secrets[name] ?? null,
        ourProgram: (name) => ({ node: catalogue.ourNode(), file: programs.file(name) }),
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

/** What is there of the files that were asked for. A path that leads out of the folder, by a link too, is not there. */
async function readSource(folder: string, names: readonly string[]): Promise<SourceFiles> {
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
