/** How a project is used through this process. One for each project, whatever became of its routes meanwhile. */
export class ProjectUse {
  /** Milliseconds since 1970; 0 for never. */
  #lastAt = 0
  #open = 0

  get lastAt(): number {
    return this.#open > 0 ? Date.now() : this.#lastAt
  }

  /** Requests that the project has and has not answered completely. */
  get open(): number {
    return this.#open
  }

  touch(): void {
    this.#lastAt = Date.now()
  }

  begin(): void {
    this.#open += 1
    this.touch()
  }

  end(): void {
    this.#open -= 1
    this.touch()
  }
}

/** Of one project, from all processes. */
export interface UseOfProject {
  readonly project: string
  /** When it was used last, in milliseconds since 1970; now while a request is open. */
  readonly lastAt: number
  /** Requests to it that are not answered completely. WebSockets are none. */
  readonly open: number
}

export function usesOf(uses: ReadonlyMap<string, ProjectUse>): readonly UseOfProject[] {
  return [...uses].flatMap(([project, { lastAt, open }]) => (lastAt === 0 ? [] : [{ project, lastAt, open }]))
}

/** As one list: the latest use of each, and all that is open. */
export function joinUses(lists: readonly (readonly UseOfProject[])[]): readonly UseOfProject[] {
  const joined = new Map<string, UseOfProject>()
  for (const use of lists.flat()) {
    const { lastAt = 0, open = 0 } = joined.get(use.project) ?? {}
    joined.set(use.project, { ...use, lastAt: Math.max(lastAt, use.lastAt), open: open + use.open })
  }
  return [...joined.values()]
}
