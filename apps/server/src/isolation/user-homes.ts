import { readlink, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Homes of projects' users as /etc/passwd has them: a link with the user's name, beside the folders of the projects. The entry is
 * written before anybody knows which project its user gets.
 */
export interface UserHomes {
  of(name: string): string
  /** Leads to the home of the project, wherever it led. Doing it twice is fine. */
  lead(name: string, project: string): Promise<void>
  remove(name: string): Promise<void>
}

/** `folder` is ours, and nobody else can write there. */
export function createUserHomes(folder: string): UserHomes {
  const of = (name: string) => join(folder, name)
  return {
    of,
    lead: async (name, project) => {
      const led = await link(project, of(name))
      if (led === 'there' && (await readlink(of(name))) !== project) {
        // Of a state that was put back since: names are given once, but not across that.
        await rm(of(name))
        await link(project, of(name))
      }
    },
    remove: (name) => rm(of(name), { force: true }),
  }
}

async function link(target: string, path: string): Promise<'there' | undefined> {
  try {
    await symlink(target, path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return 'there'
    // Without the folder no program of this machine has a home.
    if (code !== 'ENOENT') throw error
  }
  return undefined
}
