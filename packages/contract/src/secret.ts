/**
 * The text of a secret. Nothing that prints, logs or serialises shows it; `expose` does, and where that is called is
 * pinned by a test.
 */
export class Secret {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  expose(): string {
    return this.#text
  }

  /** Whether both have the same text, without exposing either. */
  equals(other: Secret): boolean {
    return this.#text === other.#text
  }

  toString(): string {
    return shown
  }

  toJSON(): string {
    return shown
  }

  /** For `console.log`, the debugger and every logger that inspects values. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return shown
  }
}

const shown = '[secret]'
