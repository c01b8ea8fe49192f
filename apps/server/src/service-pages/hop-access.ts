import { operations } from '@stackquay/contract'
import { type Caller, type Refusal, refusalOf } from '@stackquay/domain'

/** What a pass is for where it is for a project itself, rather than for one of its services. */
export const projectPass = ''

/** Pages of services are tools of whoever operates projects. */
const servicePage = { kind: 'scope', scope: 'operate', project: true, session: true } as const
/** Whoever may see a project may open it. */
const projectPage = { ...operations.getProject.access, session: true } as const

/** The one policy, asked when a pass is given and again whenever somebody’s rights change. */
export function hopRefusalOf(caller: Caller, project: string | null, service: string): Refusal | null {
  return refusalOf(caller, service === projectPass ? projectPage : servicePage, project)
}
