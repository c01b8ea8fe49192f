import { posix } from 'node:path'
import { importedBy, type Manifest } from './repository.ts'

/** From each file or folder to those that it needs. */
export type Graph = ReadonlyMap<string, ReadonlySet<string>>

export interface Source {
  /** `packages/domain/src/merge.ts`, relative to the repository. */
  readonly path: string
  readonly text: string
}

/** Which file imports which, among `sources`. `'value'` leaves out what only takes types. */
export function importGraph(
  sources: readonly Source[],
  members: readonly { readonly folder: string; readonly manifest: Manifest }[],
  which: 'value' | 'all',
): Graph {
  const paths = new Set(sources.map(({ path }) => path))
  return new Map(
    sources.map(({ path, text }) => {
      const files = importedBy(text)
        .filter(({ typeOnly }) => which === 'all' || !typeOnly)
        .flatMap(({ module }) => fileOf(path, module, members))
        .filter((file) => paths.has(file))
      return [path, new Set(files)]
    }),
  )
}

/**
 * The same graph seen from further away: of `a/b/x.ts` → `a/c/d/y.ts` remains `a/b` → `a/c`, the folders that stand beside each
 * other. What a folder and those below it need of each other does not count: a list of kinds and what all kinds share do that.
 */
export function folderGraph(graph: Graph): Graph {
  const folders = new Map<string, Set<string>>()
  for (const [path, others] of graph) {
    for (const other of others) {
      const [from, to] = whereTheyPart(path, other)
      if (from === path || to === other) continue
      folders.set(from, (folders.get(from) ?? new Set()).add(to))
      if (!folders.has(to)) folders.set(to, new Set())
    }
  }
  return folders
}

/** The first part of each path that the other does not begin with. */
function whereTheyPart(path: string, other: string): readonly [string, string] {
  const [names, otherNames] = [path.split('/'), other.split('/')]
  let same = 0
  while (same < names.length && names[same] === otherNames[same]) same += 1
  return [names.slice(0, same + 1).join('/'), otherNames.slice(0, same + 1).join('/')]
}

/**
 * Groups whose members all need each other, directly or through others of the group; one that needs itself too.
 * Tarjan’s algorithm for strongly connected components. Members and groups are sorted.
 */
export function circles(graph: Graph): readonly (readonly string[])[] {
  const found: string[][] = []
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const path: string[] = []
  const onPath = new Set<string>()

  const visit = (node: string): void => {
    order.set(node, order.size)
    lowest.set(node, order.get(node)!)
    path.push(node)
    onPath.add(node)
    for (const other of graph.get(node) ?? []) {
      if (!order.has(other)) visit(other)
      if (onPath.has(other)) lowest.set(node, Math.min(lowest.get(node)!, lowest.get(other)!))
    }
    if (lowest.get(node) !== order.get(node)) return
    const group = path.splice(path.indexOf(node))
    for (const member of group) onPath.delete(member)
    if (group.length > 1 || graph.get(node)?.has(node)) found.push(group.sort())
  }

  for (const node of graph.keys()) if (!order.has(node)) visit(node)
  return found.sort((a, b) => (a[0]! < b[0]! ? -1 : 1))
}

/** A shortest way round inside a group, from its first member back to it: what to show a person. */
export function wayRound(graph: Graph, group: readonly string[]): readonly string[] {
  const start = group[0]!
  const inside = new Set(group)
  const seen = new Set<string>()
  let ways: (readonly string[])[] = [[start]]
  while (ways.length > 0) {
    const next: (readonly string[])[] = []
    for (const way of ways) {
      for (const other of graph.get(way.at(-1)!) ?? []) {
        if (other === start) return [...way, start]
        if (!inside.has(other) || seen.has(other)) continue
        seen.add(other)
        next.push([...way, other])
      }
    }
    ways = next
  }
  return group
}

/** The file behind a module name: relative, or `@stackquay/<workspace>[/<file>]` by its `exports`. None for libraries. */
function fileOf(
  importer: string,
  module: string,
  members: readonly { readonly folder: string; readonly manifest: Manifest }[],
): readonly string[] {
  if (module.startsWith('.')) return [posix.join(posix.dirname(importer), module.replace(/\?\w+$/, ''))]
  const member = members.find(({ manifest }) => module === manifest.name || module.startsWith(`${manifest.name}/`))
  if (member === undefined) return []
  const inside = module.slice(member.manifest.name.length + 1)
  if (inside === '') return [`${member.folder}/src/index.ts`]
  return [`${member.folder}/src/${inside}.ts`, `${member.folder}/src/${inside}/index.ts`]
}
