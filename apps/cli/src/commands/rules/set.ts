import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { changeRules, type RulesBody, replaceRules } from '../../network/change-rules.ts'
import { readPassword } from '../../network/read-password.ts'
import { addRuleOptions, namesRules, type RuleFlags, ruleChange } from '../../network/rule-options.ts'
import { projectArgument } from '../../options.ts'
import { readAllInput } from '../../prompt.ts'

interface SetFlags extends RuleFlags {
  readonly passwordStdin?: boolean
  readonly file?: string
}

export const defineSet: Define = (command, context) =>
  addRuleOptions(command.argument('[project]', projectArgument))
    .summary('change rules')
    .description('Change rules. Named rules replace what was there; others stay.')
    .option('--password-stdin', 'read the password from standard input instead of asking for it')
    .option('--file <file>', 'all rules, as "stq rules show --json" prints them; "-" is standard input')
    .addHelpText(
      'after',
      `
Options that can be given more than once make a list, and replace the one that was there. To take rules away: stq rules clear

  stq rules set shop --allow 10.0.0.0/8 --allow 2001:db8::/32
  stq rules set shop --password ada --password-stdin < password.txt
  stq rules set shop --redirect '/old -> /new [301]' --response-header 'X-Frame-Options: DENY'
  stq rules show shop --json | stq rules set shop-test --file -`,
    )
    .action((project: string | undefined, flags: SetFlags) => run(context(), project, flags))

async function run(context: Context, project: string | undefined, flags: SetFlags): Promise<void> {
  const names = namesRules(flags)
  if (flags.passwordStdin === true && flags.password === undefined)
    throw usageError('Whose password?', 'An example: --password ada --password-stdin')
  if (flags.file !== undefined) {
    if (names) throw usageError('--file says all rules; it goes with no others.')
    return replaceRules(context, project, await rulesIn(context, flags.file))
  }
  if (!names) throw usageError('What is to change?', 'See: stq rules set --help')
  const change = ruleChange(flags)
  const { password: username } = flags
  if (username === undefined) return changeRules(context, project, (rules) => ({ ...rules, ...change(rules) }))
  const password = await readPassword(context.world, { fromInput: flags.passwordStdin === true })
  return changeRules(context, project, (rules) => ({ ...change(rules), basicAuth: { username, password } }))
}

/** What it may hold is for the service to say; it names every field that is wrong. */
async function rulesIn({ world }: Context, file: string): Promise<RulesBody> {
  const text = file === '-' ? await readAllInput(world) : await contentOf(resolve(world.cwd, file), file)
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    throw usageError(`${file === '-' ? 'Standard input' : file} is no JSON: ${(error as Error).message}`)
  }
  if (parsed === null || typeof parsed !== 'object' || Array.isArray(parsed))
    throw usageError('Rules are one JSON object.', 'As "stq rules show --json" prints them.')
  return parsed as RulesBody
}

async function contentOf(path: string, shownAs: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: Error) => {
    throw usageError(`${shownAs} cannot be read: ${error.message}`)
  })
}
