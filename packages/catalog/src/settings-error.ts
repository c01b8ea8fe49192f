/** Thrown by `toWorkloads` when the settings cannot run as they are; becomes one 422 error at `pointer`. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
  readonly field: string
  readonly hint: string
  constructor(field: string, message: string, hint: string) {
    super(message)
    this.field = field
    this.hint = hint
  }
}
