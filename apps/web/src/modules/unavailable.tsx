import { CodeBlock } from '../components/code-block.tsx'
import { texts } from '../texts/index.ts'

/** Why the machine cannot offer it, and the command that changes that. */
export function Unavailable({
  label,
  reason,
  install,
}: {
  label: string
  reason: string | null
  install: string | null
}) {
  return (
    <div className="flex min-w-0 flex-col gap-1.5 text-sm text-ink-2">
      <p className="break-words">{reason ?? texts.create.unavailable}</p>
      {install !== null &&
        (looksLikeCommand(install) ? (
          <CodeBlock code={install} label={`${texts.create.install}: ${label}`} />
        ) : (
          <p className="break-words">{install}</p>
        ))}
    </div>
  )
}

/** Installation hints are a command on Debian and a sentence elsewhere. */
function looksLikeCommand(hint: string): boolean {
  return !/^[A-Z].*\.$/s.test(hint.trim())
}
