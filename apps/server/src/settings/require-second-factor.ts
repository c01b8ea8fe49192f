import { secondFactorRules } from '@stackquay/domain'
import { z } from 'zod'

/** The variable of that setting, as `config.ts` has the others. */
export const requireSecondFactor = z
  .enum(secondFactorRules)
  .default('off')
  .describe(
    'Of whom a second factor is required to log in: `off`, `administrators` or `everyone`. Whoever has none may do nothing before it is set up. Default: `off`.',
  )
