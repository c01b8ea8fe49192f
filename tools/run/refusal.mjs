/** Something the person has to act on: printed without a stack. */
export class Refusal extends Error {
  name = 'Refusal'

  constructor(message, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}
