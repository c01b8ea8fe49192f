interface FieldError {
  readonly pointer: string
  readonly detail: string
}

/** The errors at one field (`/node/version`) and below it, as sentences. */
export function errorsAt(errors: readonly FieldError[] | undefined, pointer: string): string | null {
  const found = (errors ?? []).filter((error) => error.pointer === pointer || error.pointer.startsWith(`${pointer}/`))
  return found.length === 0 ? null : found.map((error) => error.detail).join(' ')
}

/** Errors that no field of the form shows; they must not be lost. */
export function errorsElsewhere<E extends FieldError>(
  errors: readonly E[] | undefined,
  shown: readonly string[],
): readonly E[] {
  return (errors ?? []).filter(
    (error) => !shown.some((pointer) => error.pointer === pointer || error.pointer.startsWith(`${pointer}/`)),
  )
}

/** A key as one part of a JSON pointer (RFC 6901). */
export function pointerPart(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}
