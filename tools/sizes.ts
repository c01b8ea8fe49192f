import { functionSizes } from './function-sizes.ts'
import type { Source } from './import-graph.ts'

/** An ordinary file has 40 to 60 lines. More than this are several ideas in one. */
export const mostFileLines = 400
/** A function that fits neither a screen nor a head. An ordinary one has less than 30. */
export const mostFunctionLines = 80

/** Neither tests, the suites that every engine must pass among them, nor texts of the page and examples of the document. */
export function isMeasured(path: string): boolean {
  return (
    /^((apps|packages)\/[^/]+\/src|tools)\//.test(path) &&
    !/^tools\/test\/|\/src\/texts\/|\/src\/openapi\/examples\.ts$|^packages\/engine-api\/src\/conformance/.test(path)
  )
}

/** Files above the limit, with their lines. */
export function tooLongFiles(sources: readonly Source[]): ReadonlyMap<string, number> {
  return above(
    mostFileLines,
    sources.map(({ path, text }) => [path, text.split('\n').length - 1]),
  )
}

/** Functions above the limit, as `<file> <name>`, with their lines. Of functions with one name in one file, the longest. */
export function tooLongFunctions(sources: readonly Source[]): ReadonlyMap<string, number> {
  return above(
    mostFunctionLines,
    sources.flatMap(({ path, text }) =>
      functionSizes(text).map(({ name, lines }) => [`${path} ${name || '(no name)'}`, lines] as const),
    ),
  )
}

function above(limit: number, sizes: readonly (readonly [string, number])[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  for (const [name, lines] of sizes) if (lines > limit) found.set(name, Math.max(lines, found.get(name) ?? 0))
  return found
}

/** What is above the limits today. These may become shorter, not longer, and leave the list when they are below the limit. */
export const knownLongFiles: Readonly<Record<string, number>> = {}

/** The same for functions. Migrations are never changed again. */
export const knownLongFunctions: Readonly<Record<string, number>> = {
  'packages/store/src/migrations/0001-first.ts up': 169,
  'apps/server/src/http/upgrade.ts createUpgrades': 127,
  'apps/server/src/http/frame-socket.ts openFrameSocket': 111,
  'packages/store/src/migrations/0004-runs.ts up': 96,
  'apps/server/src/http/app.ts createHttpApp': 108,
  'apps/server/src/logs/log-reader.ts openLogReader': 167,
  'packages/orchestrator/src/supervisor.ts createSupervisor': 185,
}
