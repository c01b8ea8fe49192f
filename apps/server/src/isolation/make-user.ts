import type { Account } from '@stackquay/engines'
import type { ProjectUser } from '@stackquay/store'
import { addSystemUser, findSystemUser, type SystemUser } from './system-users.ts'
import type { UserHomes } from './user-homes.ts'
import type { UserRecords } from './user-records.ts'
import { usersUnavailable } from './users-unavailable.ts'

/** The user of a project, made when it is not there. What was written down comes first: a user that is made is known, also after a crash in between. */
export async function makeUser(project: string, records: UserRecords, homes: Pick<UserHomes, 'of'>): Promise<Account> {
  for (;;) {
    const known = records.find(project)
    const row = known ?? (await records.add(project, null))
    // For a number that was just given out nobody has made one; a name that is taken all the same, `useradd` reports.
    const existing = known === undefined ? null : await findSystemUser(row.name)
    if (row.isOwner) return ownerStill(row, existing)
    if (existing !== null && existing.uid === row.uid) return { ...namedAccount(row), gid: existing.gid }
    const added = existing !== null ? 'name_taken' : await addUser(row, homes.of(row.name))
    if (added === 'uid_taken') await records.changeUid(row)
    // A user of that name is there for something else and is left alone; the project gets the next number.
    else if (added === 'name_taken') await records.retire(project)
    else {
      if (added.gid !== row.gid) await records.keepIds(row, added)
      return { ...namedAccount(row), gid: added.gid }
    }
  }
}

function addUser({ name, uid }: ProjectUser, home: string) {
  return addSystemUser({ name, uid, home }).catch((error: Error) => {
    throw usersUnavailable(
      `The project has no user of its own, and none can be made: ${error.message}.`,
      'Let the service make users (useradd), or choose another level with STACKQUAY_ISOLATION.',
    )
  })
}

/** The uid was fixed when the project was created: who has the name or the number by now is somebody else. */
function ownerStill(row: ProjectUser, now: SystemUser | null): Account {
  if (now !== null && now.uid === row.uid && now.gid === row.gid) return namedAccount(row)
  throw usersUnavailable(
    `The project runs as the user "${row.name}" (uid ${row.uid}), which ${now === null ? 'is gone' : `has uid ${now.uid} and group ${now.gid} now`}.`,
    'Restore the user with its numbers, or create the project again from its folder.',
  )
}

export function namedAccount({ uid, gid, name, isOwner }: ProjectUser): Account {
  return { uid, gid, name, ...(isOwner ? { isOwner } : {}) }
}
