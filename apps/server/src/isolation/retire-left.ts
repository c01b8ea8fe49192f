import type { Store } from '@stackquay/store'
import type { ProjectUsers } from './project-users.ts'

/** Takes away users of projects that are gone: a service that was killed between the removal of the two left them. Those that wait go on waiting, and files in the trash keep theirs. */
export async function retireLeft(users: ProjectUsers | null, store: Pick<Store, 'projects' | 'trash'>): Promise<void> {
  await users?.resume()
  for (const { project } of users?.all() ?? []) {
    const isGone = (await store.projects.find(project)) === null
    if (isGone && (await store.trash.ofProject(project)).length === 0) await users?.retire(project)
  }
}
