import type { Store } from '@stackquay/store'
import type { ProjectUsers } from './project-users.ts'

/** Takes away users of projects that are gone: a service that was killed between the removal of the two left them. Those that wait go on waiting. */
export async function retireLeft(users: ProjectUsers | null, store: Pick<Store, 'projects'>): Promise<void> {
  await users?.resume()
  for (const { project } of users?.all() ?? []) {
    if ((await store.projects.find(project)) === null) await users?.retire(project)
  }
}
