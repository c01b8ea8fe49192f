import type { DiagnosticCheck } from '@stackquay/contract'
import type { Store } from '@stackquay/store'
import type { InstanceIsolation } from '../isolation/isolation.ts'
import { chooseIsolation } from '../isolation/level.ts'
import { notPrevented } from '../isolation/not-prevented.ts'

export interface IsolationCheckDeps {
  readonly isolation: Pick<InstanceIsolation, 'chosen' | 'offers' | 'broken' | 'users'>
  readonly store: Pick<Store, 'projects'>
}

type Shown = Pick<InstanceIsolation, 'chosen' | 'offers' | 'broken'>

/** How projects are isolated, what the machine offers beyond that, and whose files are not their own yet. */
export async function isolationChecks({ isolation, store }: IsolationCheckDeps): Promise<readonly DiagnosticCheck[]> {
  const unmoved = new Set(isolation.users?.unmoved() ?? [])
  const waiting = (await store.projects.all()).filter(({ id }) => unmoved.has(id)).map(({ slug }) => slug)
  return [levelCheck(isolation), ...offerCheck(isolation), ...unmovedCheck(waiting)]
}

function levelCheck({ chosen, offers, broken }: Shown): DiagnosticCheck {
  const how = `Level "${chosen.level}"${chosen.features.length === 0 ? '' : ` (${chosen.features.join(', ')})`}.`
  if (broken !== null)
    return check('isolation', 'error', `${how} No project starts: ${broken}`, {
      hint: 'Restore what is missing, then restart the service. To accept less, choose another level with STACKQUAY_ISOLATION.',
    })
  const gaps = notPrevented(chosen, offers.root)
  const detail = gaps.length === 0 ? how : `${how} Not prevented: ${gaps.join(' ')}`
  if (chosen.level !== 'shared') return check('isolation', 'ok', detail)
  return check('isolation', 'warning', detail, raised(offers))
}

/** The way from one user for all to something better. */
function raised({ root, sandbox }: Shown['offers']): { readonly hint: string; readonly fix?: string } {
  if (sandbox === null)
    return {
      hint: 'Restart the service with a sandbox for each project, and without STACKQUAY_RUN_AS.',
      fix: 'STACKQUAY_ISOLATION=sandbox',
    }
  if (root)
    return {
      hint: 'Restart the service with a user for each project, and without STACKQUAY_RUN_AS.',
      fix: 'STACKQUAY_ISOLATION=user',
    }
  return {
    hint: `Start the service as root with STACKQUAY_ISOLATION=user, or make bubblewrap work and use STACKQUAY_ISOLATION=sandbox. ${sandbox}`,
  }
}

/** The level stays as it was chosen; what came to the machine later is only offered. */
function offerCheck({ chosen, offers, broken }: Shown): readonly DiagnosticCheck[] {
  if (broken !== null) return []
  const best = chooseIsolation('auto', offers)
  if (chosen.level !== 'shared' && best.level === 'sandbox' && chosen.level !== 'sandbox')
    return [
      check('isolation-offer', 'info', 'bubblewrap works now, so programs can see their own project alone.', {
        hint: 'Restart the service with the stronger level.',
        fix: 'STACKQUAY_ISOLATION=sandbox',
      }),
    ]
  const { features } = chooseIsolation(chosen.level, offers)
  const more = features.filter((feature) => !chosen.features.includes(feature))
  if (chosen.level === 'shared' || more.length === 0) return []
  const other = chosen.setting === 'auto' ? chosen.level : 'auto'
  return [
    check('isolation-offer', 'info', `This machine offers more than was chosen: ${more.join(', ')}.`, {
      hint: 'Restart the service with another setting, which chooses anew.',
      fix: `STACKQUAY_ISOLATION=${other}`,
    }),
  ]
}

function unmovedCheck(slugs: readonly string[]): readonly DiagnosticCheck[] {
  const [first] = slugs
  if (first === undefined) return []
  const names = slugs.length > 8 ? `${slugs.slice(0, 8).join(', ')} and ${slugs.length - 8} more` : slugs.join(', ')
  return [
    check(
      'isolation-files',
      'warning',
      `The files of ${names} belong to the user that all projects shared before, so these projects can reach each other.`,
      {
        hint: 'Stop and start each of them: its files become its own user’s then.',
        fix: `stq stop ${first} && stq start ${first}`,
      },
    ),
  ]
}

const titles = {
  isolation: 'Isolation of projects',
  'isolation-offer': 'Stronger isolation',
  'isolation-files': 'Files of earlier projects',
} as const

function check(
  id: keyof typeof titles,
  status: DiagnosticCheck['status'],
  detail: string,
  what: { readonly hint?: string | null; readonly fix?: string | null } = {},
): DiagnosticCheck {
  return { id, category: 'system', title: titles[id], status, detail, hint: what.hint ?? null, fix: what.fix ?? null }
}
