import type { FieldError } from '@stackquay/contract'
import type { ProjectFormState } from '../../lib/project-form.ts'

/** What each part of the form shows and changes. */
export interface PartProps {
  form: ProjectFormState
  change: (part: Partial<ProjectFormState>) => void
  errors: readonly FieldError[] | undefined
}
