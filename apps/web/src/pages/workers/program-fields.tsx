import type { FieldError } from '@stackquay/contract'
import { TextField } from '../../components/field.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { texts } from '../../texts/index.ts'

const t = texts.workers

interface Program {
  readonly isNew: boolean
  readonly name: string
  readonly command: string
}

/** What workers and cron jobs have alike. `at` is the pointer of the one that is written. */
export function ProgramFields({
  program: { isNew, name, command },
  onChange,
  at,
  errors,
}: {
  program: Program
  onChange: (changed: Partial<Program>) => void
  at: string
  errors: readonly FieldError[] | undefined
}) {
  return (
    <>
      <TextField
        label={t.name}
        help={t.nameHelp}
        required
        mono
        maxLength={30}
        disabled={!isNew}
        value={name}
        onChange={(event) => onChange({ name: event.target.value })}
        // What is below it has fields of its own.
        error={errorsAt(
          errors?.filter(({ pointer }) => pointer === at),
          at,
        )}
      />
      <TextField
        label={t.command}
        help={t.commandHelp}
        required
        mono
        value={command}
        onChange={(event) => onChange({ command: event.target.value })}
        error={errorsAt(errors, `${at}/command`)}
      />
    </>
  )
}
