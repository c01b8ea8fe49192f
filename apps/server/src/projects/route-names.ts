/** Which names projects have by themselves, and which ones they were given: where both meet, the project that has it by itself wins. */
export interface RouteNames {
  /**
   * The names of a project as they are now; none when it is gone. Answers the other projects whose routes that concerns: they were
   * given a name that just became, or ceased to be, somebody's own.
   */
  renew(project: string, own: readonly string[], given: readonly string[]): readonly string[]
  /** Whether a project has it by itself. */
  isOwn(name: string): boolean
  /** Whether no other project has it by itself: of two, the one that is called so keeps it, and not the one of which a service has its page there. */
  isOwnOf(project: string, name: string): boolean
}

export function createRouteNames(): RouteNames {
  const own = createIndex()
  const given = createIndex()
  return {
    renew(project, ownNames, givenNames) {
      given.put(project, givenNames)
      const before = own.namesOf(project)
      own.put(project, ownNames)
      const moved = new Set(ownNames).symmetricDifference(before)
      return [...moved]
        .flatMap((name) => [...given.projectsOf(name), ...own.projectsOf(name)])
        .filter((other) => other !== project)
    },
    isOwn: (name) => own.projectsOf(name).size > 0,
    isOwnOf: (project, name) => [...own.projectsOf(name)].every((other) => other === project),
  }
}

const none: ReadonlySet<string> = new Set()

/** Names by project, and projects by name. */
function createIndex() {
  const names = new Map<string, ReadonlySet<string>>()
  const projects = new Map<string, Set<string>>()
  const namesOf = (project: string) => names.get(project) ?? none
  return {
    namesOf,
    projectsOf: (name: string): ReadonlySet<string> => projects.get(name) ?? none,
    put(project: string, now: readonly string[]): void {
      for (const name of namesOf(project)) {
        const all = projects.get(name)
        all?.delete(project)
        if (all?.size === 0) projects.delete(name)
      }
      if (now.length === 0) names.delete(project)
      else names.set(project, new Set(now))
      for (const name of now) projects.set(name, (projects.get(name) ?? new Set()).add(project))
    },
  }
}
