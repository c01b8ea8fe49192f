/**
 * Who uses projects other than through the proxy, and is not written down as an operation, a run or a terminal: programs for the one who
 * waits for them, exports. Whatever connects people to a project by a way of its own says so here.
 */
export interface ProjectUses {
  /** The project is used from now on, until the function is called that this answers. */
  begin(project: string): () => void
  isUsed(project: string): boolean
  /** When it was used last by this service; undefined when it was not. */
  lastOf(project: string): Date | undefined
}

export function createUses(now: () => Date): ProjectUses {
  const open = new Map<string, number>()
  const last = new Map<string, Date>()
  return {
    begin: (project) => {
      open.set(project, (open.get(project) ?? 0) + 1)
      let isOver = false
      return () => {
        if (isOver) return
        isOver = true
        last.set(project, now())
        const left = (open.get(project) ?? 1) - 1
        if (left > 0) open.set(project, left)
        else open.delete(project)
      }
    },
    isUsed: (project) => open.has(project),
    lastOf: (project) => (open.has(project) ? now() : last.get(project)),
  }
}

/** Hands on what passes by; the project is used until the last of it, or until nobody wants more. */
export async function* whileUsed<Chunk>(
  project: string,
  chunks: AsyncIterable<Chunk>,
  uses: Pick<ProjectUses, 'begin'>,
): AsyncGenerator<Chunk, void> {
  const end = uses.begin(project)
  try {
    yield* chunks
  } finally {
    end()
  }
}
